import type {ManagedProcess} from '../processes/managed-process.js';
import {type WaitConditions, type WaitOutcome, waitForConditions} from '../processes/wait/wait-conditions.js';
import type {Params} from '../protocol/methods/method-table.js';
import {INVALID_PARAMS, RpcError} from '../protocol/wire/error-codes.js';
import type {Lifetime} from '../shared/async/lifetime.js';

/** Converts the conditions of `process/waitFor`; throws if there is none. */
export function toWaitConditions(params: Params<'process/waitFor'>): WaitConditions {
	const conditions = {
		exit: params.exit,
		pattern: params.pattern ?? undefined,
		patternFlags: params.patternFlags ?? undefined,
		afterSeq: params.afterSeq ?? undefined,
		afterOffset: params.afterOffset ?? undefined,
		port: params.port ?? undefined,
		silenceMs: params.silenceMs ?? undefined,
		input: params.input,
		timeoutMs: params.timeoutMs ?? undefined,
	};
	const {exit, pattern, port, silenceMs, input} = conditions;
	if (exit || input || pattern !== undefined || port !== undefined || silenceMs !== undefined) return conditions;
	throw new RpcError(INVALID_PARAMS, 'nothing to wait for');
}

/** The answer to `process/waitFor`; never settles if the lifetime ends first. Patterns of one account share a thread. */
export async function answerWait(
	process: ManagedProcess,
	params: Params<'process/waitFor'>,
	lifetime: Lifetime,
	account: unknown,
): Promise<WaitOutcome> {
	return waitForConditions(process, toWaitConditions(params), lifetime, account);
}
