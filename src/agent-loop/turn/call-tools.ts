import {Deferred} from '../../shared/async/deferred.js';
import {onAbort} from '../../shared/async/on-abort.js';
import {errorMessage} from '../../shared/errors.js';
import type {FunctionCall} from '../model/response-items.js';
import type {AgentTool, ToolResult} from './agent-tool.js';

/** Calls of one response that are made; the others are answered with a refusal. */
export const MAX_PARALLEL_CALLS = 128;

export interface CallToolsOptions {
	readonly turnId: string;
	readonly signal: AbortSignal;
	/** Whether the other calls are waited for when one of them is the last work of the turn. */
	readonly waitsForAll: boolean;
}

/** Outputs of the calls, in their order; `isDone` if one of them was the last work, and then the outputs may lack some. */
export interface CalledTools {
	readonly outputs: readonly {readonly callId: string; readonly output: string}[];
	readonly isDone: boolean;
}

/** Makes all calls of a response at once. They begin in their order, so the first of two reports comes first. */
export async function callTools(
	tools: readonly AgentTool[],
	calls: readonly FunctionCall[],
	{turnId, signal, waitsForAll}: CallToolsOptions,
): Promise<CalledTools> {
	signal.throwIfAborted();
	const outputs = new Map<number, string>();
	const done = new Deferred();
	let isDone = false;
	const controller = new AbortController();
	const stopListening = onAbort(signal, reason => {
		controller.abort(reason);
		done.reject(reason);
	});
	const callOne = async (call: FunctionCall, index: number): Promise<void> => {
		const context = {callId: call.callId, turnId, signal: controller.signal};
		const result = await callTool(tools, call, index, context);
		outputs.set(index, result.text);
		if (!result.isDone) return;
		isDone = true;
		if (!waitsForAll) done.resolve();
	};
	try {
		await Promise.race([Promise.all(calls.map(callOne)), done.promise]);
	} finally {
		stopListening();
		controller.abort();
	}
	const finished = [...outputs].sort(([one], [other]) => one - other);
	return {outputs: finished.map(([index, output]) => ({callId: calls[index]!.callId, output})), isDone};
}

async function callTool(
	tools: readonly AgentTool[],
	{name, arguments: args}: FunctionCall,
	index: number,
	context: Parameters<AgentTool['call']>[1],
): Promise<ToolResult> {
	if (index >= MAX_PARALLEL_CALLS)
		return {text: `too many calls in one response; at most ${MAX_PARALLEL_CALLS} are made`};
	const found = tools.find(({tool}) => tool.name === name);
	if (!found) return {text: `unsupported call: ${name}`};
	try {
		return await found.call(args, context);
	} catch (error) {
		return {text: `${name} failed: ${errorMessage(error)}`};
	}
}
