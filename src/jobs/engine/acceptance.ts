import {errorMessage} from '../../shared/errors.js';
import type {ReportAnswer} from '../item-worker.js';

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

/** Outcome of the checks that need no schema: refused, or a result as JSON that must still match the schema. */
export type Judgement =
	| Extract<ReportAnswer, {readonly accepted: false}>
	| {readonly accepted: 'if-valid'; readonly json: string};

/**
 * The one place where results are accepted: of a running item, with the token of its present attempt, a JSON object that is not
 * too long. The schema is checked after that, in a thread; meanwhile the item may have ended, so the report is judged again. The
 * caller changes the state in the same step as the last judgement, so the first one wins.
 */
export function judgeReport(item: ReportedItem, call: ReportCall, maxBytes = MAX_RESULT_BYTES): Judgement {
	const refused = judgeCaller(item, call);
	if (refused) return refused;
	const {result} = call;
	if (typeof result !== 'object' || result === null || Array.isArray(result)) {
		return {accepted: false, reason: 'not_an_object', detail: 'result must be a JSON object'};
	}
	return measure(result, maxBytes);
}

/** Refuses a report of an item that is not running, or of another attempt at it. */
export function judgeCaller(
	item: ReportedItem,
	{token}: ReportCall,
): Extract<ReportAnswer, {readonly accepted: false}> | undefined {
	if (item.kind === 'unknown') return {accepted: false, reason: 'unknown_item'};
	if (item.kind === 'over') return {accepted: false, reason: 'not_running'};
	return item.token === token ? undefined : {accepted: false, reason: 'wrong_worker'};
}

function measure(result: object, maxBytes: number): Judgement {
	let json: string;
	try {
		json = JSON.stringify(result);
	} catch (error) {
		// Too many levels, for instance.
		return {accepted: false, reason: 'schema', detail: `the result cannot be kept: ${errorMessage(error)}`};
	}
	const bytes = Buffer.byteLength(json);
	if (bytes <= maxBytes) return {accepted: 'if-valid', json};
	const detail = `the result has ${bytes} bytes, and at most ${maxBytes} are kept`;
	return {accepted: false, reason: 'schema', detail};
}
