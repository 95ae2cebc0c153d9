import type {JsonSchema} from '../../agent-tools/tool-specs.js';

/** Item of a conversation: from the model as it came, or ours. */
export type ResponseItem = Readonly<Record<string, unknown>> & {readonly type: string};

/** Call of a tool by the model. */
export interface FunctionCall {
	readonly callId: string;
	readonly name: string;
	/** JSON text. */
	readonly arguments: string;
}

/** Tool as a request describes it. */
export interface FunctionTool {
	readonly type: 'function';
	readonly name: string;
	readonly description: string;
	readonly strict: false;
	readonly parameters: JsonSchema;
}

/** Tokens of one response, as the endpoint counts them. */
export interface TokenUsage {
	readonly inputTokens: number;
	readonly outputTokens: number;
	readonly totalTokens: number;
}

/** A finished response of the model. */
export interface ModelResponse {
	readonly id: string | undefined;
	readonly items: readonly ResponseItem[];
	readonly usage: TokenUsage | undefined;
}

export function userMessage(text: string): ResponseItem {
	return {type: 'message', role: 'user', content: [{type: 'input_text', text}]};
}

export function functionCallOutput(callId: string, output: string): ResponseItem {
	return {type: 'function_call_output', call_id: callId, output};
}

/** The calls among the items of a response, in their order. */
export function functionCalls(items: readonly ResponseItem[]): FunctionCall[] {
	return items.flatMap(item => {
		const {type, call_id: callId, name, arguments: given} = item as Record<string, unknown>;
		if (type !== 'function_call' || typeof callId !== 'string' || typeof name !== 'string') return [];
		return [{callId, name, arguments: typeof given === 'string' ? given : ''}];
	});
}

/** Text of the messages among the items; undefined without one. */
export function messageText(items: readonly ResponseItem[]): string | undefined {
	const texts = items.filter(({type}) => type === 'message').flatMap(({content}) => textParts(content));
	return texts.length === 0 ? undefined : texts.join('\n');
}

function textParts(content: unknown): string[] {
	if (!Array.isArray(content)) return [];
	return content.flatMap((part: unknown) => {
		const {type, text} = (part ?? {}) as Record<string, unknown>;
		return type === 'output_text' && typeof text === 'string' ? [text] : [];
	});
}
