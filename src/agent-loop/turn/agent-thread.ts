import {randomUUID} from 'node:crypto';
import {errorMessage} from '../../shared/errors.js';
import type {ReasoningEffort} from '../model/request-body.js';
import {
	functionCallOutput,
	functionCalls,
	type ModelResponse,
	messageText,
	type ResponseItem,
	userMessage,
} from '../model/response-items.js';
import type {ResponsesClient} from '../model/responses-client.js';
import type {AgentTool} from './agent-tool.js';
import {callTools} from './call-tools.js';
import type {TurnItem, TurnNotification, TurnStatus} from './turn-notifications.js';

/** Requests to the model in one turn. */
export const DEFAULT_MAX_TURNS = 100;

/** Model of a thread and how it is asked. */
export interface ModelOptions {
	readonly client: ResponsesClient;
	readonly model: string;
	readonly reasoningEffort?: ReasoningEffort | undefined;
	/** Requests to the model before a turn is given up; 100 by default. */
	readonly maxTurns?: number | undefined;
}

export interface AgentThreadOptions extends ModelOptions {
	readonly instructions: string;
	readonly tools: readonly AgentTool[];
	/** Value of the header `x-openai-subagent`. */
	readonly subagent?: string | undefined;
	/** Goes on until a response has no calls, also when a tool says that the work is done. */
	readonly finishTurn?: boolean | undefined;
	/** Message to a model that stops before the work is done; it gets it once. */
	readonly reminder?: string | undefined;
	readonly onNotification?: ((notification: TurnNotification) => void) | undefined;
}

/** How a turn ended. */
export type TurnEnd =
	/** A tool said that the work is done. */
	| {readonly kind: 'done'}
	/** A response had no calls. */
	| {readonly kind: 'no-calls'; readonly lastMessage: string | undefined}
	| {readonly kind: 'max-turns'; readonly maxTurns: number}
	| {readonly kind: 'failed'; readonly error: unknown}
	| {readonly kind: 'interrupted'};

/** Conversation with a model that calls tools. */
export class AgentThread {
	readonly id = randomUUID();
	readonly #options: AgentThreadOptions;
	readonly #input: ResponseItem[] = [];

	constructor(options: AgentThreadOptions) {
		this.#options = options;
	}

	/** Runs one turn to its end; never rejects. Sends exactly one `turn/completed`, as the last notification of the turn. */
	async runTurn(prompt: string, signal: AbortSignal, turnId: string = randomUUID()): Promise<TurnEnd> {
		this.#notify({method: 'turn/started', params: {threadId: this.id, turn: {id: turnId, status: 'inProgress'}}});
		const end = await this.#runTurn(prompt, signal, turnId);
		const error = describeTurnFailure(end);
		const turn = {id: turnId, status: statusOf(end), error: error === undefined ? null : {message: error}};
		this.#notify({method: 'turn/completed', params: {threadId: this.id, turn}});
		return end;
	}

	async #runTurn(prompt: string, signal: AbortSignal, turnId: string): Promise<TurnEnd> {
		const {maxTurns = DEFAULT_MAX_TURNS, tools, finishTurn = false, reminder} = this.#options;
		this.#input.push(userMessage(prompt));
		let [isDone, isReminded] = [false, false];
		try {
			for (let turns = 0; turns < maxTurns; turns++) {
				const {items} = await this.#respond(signal, turnId);
				this.#input.push(...items);
				const lastMessage = messageText(items);
				if (lastMessage !== undefined) this.#notifyItem(turnId, {type: 'agentMessage', text: lastMessage});
				const calls = functionCalls(items);
				if (calls.length === 0) {
					if (isDone) return {kind: 'done'};
					if (reminder === undefined || isReminded) return {kind: 'no-calls', lastMessage};
					this.#input.push(userMessage(reminder));
					isReminded = true;
					continue;
				}
				for (const call of calls) this.#notifyItem(turnId, {type: 'functionCall', ...call});
				const called = await callTools(tools, calls, {turnId, signal, waitsForAll: finishTurn});
				for (const {callId, output} of called.outputs) {
					this.#input.push(functionCallOutput(callId, output));
					this.#notifyItem(turnId, {type: 'functionCallOutput', callId, output});
				}
				isDone ||= called.isDone;
				if (isDone && !finishTurn) return {kind: 'done'};
			}
			return isDone ? {kind: 'done'} : {kind: 'max-turns', maxTurns};
		} catch (error) {
			if (isDone) return {kind: 'done'};
			return signal.aborted ? {kind: 'interrupted'} : {kind: 'failed', error};
		}
	}

	#respond(signal: AbortSignal, turnId: string): Promise<ModelResponse> {
		const {client, model, instructions, tools, reasoningEffort, subagent} = this.#options;
		const threadId = this.id;
		return client.respond(
			{
				model,
				instructions,
				input: this.#input,
				tools: tools.map(({tool}) => tool),
				reasoningEffort,
				cacheKey: threadId,
				subagent,
			},
			{
				signal,
				onRetry: ({message}, delayMs) =>
					this.#notify({
						method: 'turn/retrying',
						params: {threadId, turnId, message, delayMs: Math.round(delayMs)},
					}),
			},
		);
	}

	#notifyItem(turnId: string, item: TurnItem): void {
		this.#notify({method: 'item/completed', params: {threadId: this.id, turnId, item}});
	}

	#notify(notification: TurnNotification): void {
		this.#options.onNotification?.(notification);
	}
}

function statusOf({kind}: TurnEnd): TurnStatus {
	switch (kind) {
		case 'done':
		case 'no-calls':
			return 'completed';
		case 'max-turns':
		case 'failed':
			return 'failed';
		case 'interrupted':
			return 'interrupted';
	}
}

/** Reason of a turn that failed; undefined for others. */
export function describeTurnFailure(end: TurnEnd): string | undefined {
	if (end.kind === 'failed') return errorMessage(end.error);
	if (end.kind === 'max-turns') return `the turn is not finished after ${end.maxTurns} responses of the model`;
	return undefined;
}
