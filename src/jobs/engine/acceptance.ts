import type {ReportAnswer} from '../item-worker.js';
import type {ResultCheck} from './result-schema.js';

/** Bytes of a result as JSON. */
export const MAX_RESULT_BYTES = 4 * 1024 * 1024;

/** A result that somebody reports for an item. */
export interface ReportCall {
	readonly itemId: string;
	readonly token: string;
	readonly result: unknown;
	readonly stop?: boolean | undefined;
	/** Exit code of the worker, if it has ended. */
	readonly exitCode?: number | undefined;
}

/** State of the item, as far as a report depends on it. */
export type ReportedItem =
	/** Nothing has been decided about its present attempt. */
	| {readonly kind: 'running'; readonly token: string}
	/** It is not running, or its attempt has failed and is being ended. */
	| {readonly kind: 'over'}
	| {readonly kind: 'unknown'};

/**
 * The one place where results are accepted: of a running item, with the token of its present attempt, a JSON object that
 * matches the schema. The caller changes the state in the same step, so the first one wins.
 */
export function judgeReport(
	item: ReportedItem,
	call: ReportCall,
	check: ResultCheck | undefined,
	maxBytes = MAX_RESULT_BYTES,
): ReportAnswer {
	if (item.kind === 'unknown') return {accepted: false, reason: 'unknown_item'};
	if (item.kind === 'over') return {accepted: false, reason: 'not_running'};
	if (item.token !== call.token) return {accepted: false, reason: 'wrong_worker'};
	const {result} = call;
	if (typeof result !== 'object' || result === null || Array.isArray(result)) {
		return {accepted: false, reason: 'not_an_object', detail: 'result must be a JSON object'};
	}
	const detail = measure(result, maxBytes) ?? check?.(result);
	return detail === undefined ? {accepted: true} : {accepted: false, reason: 'schema', detail};
}

function measure(result: object, maxBytes: number): string | undefined {
	const bytes = Buffer.byteLength(JSON.stringify(result));
	return bytes <= maxBytes ? undefined : `the result has ${bytes} bytes, and at most ${maxBytes} are kept`;
}
