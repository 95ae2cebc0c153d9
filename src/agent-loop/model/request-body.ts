import type {FunctionTool, ResponseItem} from './response-items.js';

/** Reasoning efforts that an endpoint may know. */
export const REASONING_EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'] as const;
/** Reasoning effort of a request. */
export type ReasoningEffort = (typeof REASONING_EFFORTS)[number];

/** One request to the model: the conversation so far, and the tools it may call. */
export interface ModelRequest {
	readonly model: string;
	readonly instructions: string;
	readonly input: readonly ResponseItem[];
	readonly tools: readonly FunctionTool[];
	readonly reasoningEffort?: ReasoningEffort | undefined;
	/** The same for all requests of one conversation, so that the endpoint finds what it has cached. */
	readonly cacheKey: string;
	/** Value of the header `x-openai-subagent`. */
	readonly subagent?: string | undefined;
}

export function createRequestBody(request: ModelRequest): Record<string, unknown> {
	const {model, instructions, input, tools, reasoningEffort, cacheKey} = request;
	return {
		model,
		instructions,
		input,
		tools,
		tool_choice: 'auto',
		parallel_tool_calls: true,
		...(reasoningEffort !== undefined && {
			reasoning: {effort: reasoningEffort},
			include: ['reasoning.encrypted_content'],
		}),
		// Nothing is kept at the endpoint: each request brings the whole conversation.
		store: false,
		stream: true,
		prompt_cache_key: cacheKey,
	};
}

export function createRequestHeaders(
	{subagent}: ModelRequest,
	authorization: string | undefined,
): Record<string, string> {
	return {
		...(authorization !== undefined && {authorization}),
		'content-type': 'application/json',
		accept: 'text/event-stream',
		...(subagent !== undefined && {'x-openai-subagent': subagent}),
	};
}
