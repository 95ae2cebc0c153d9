import {linkSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {STOP_SUFFIX} from '../../../jobs/command/report-place.js';
import type {ReportAnswer} from '../../../jobs/item-worker.js';
import {errorMessage} from '../../../shared/errors.js';
import {randomId} from '../../../shared/random-id.js';
import {writeJson} from '../../common/messages.js';
import {EXIT, usageError} from '../../exit-codes.js';

const STDIN = 0;
const ANSWER_MS = 60_000;

/** Reports a result: to the runner if it can be reached, else in the file that it reads later. */
export async function report(given: string, stop: boolean): Promise<number> {
	const result = readResult(given);
	const answer = await send(result, stop);
	writeJson(answer);
	return answer.accepted ? EXIT.ok : EXIT.failed;
}

function readResult(given: string): unknown {
	const text =
		given === '-' ? readFileSync(STDIN, 'utf8') : given.startsWith('@') ? readFileSync(given.slice(1), 'utf8') : given;
	try {
		return JSON.parse(text) as unknown;
	} catch (error) {
		throw usageError(`the result is not JSON: ${errorMessage(error)}`, error);
	}
}

async function send(result: unknown, stop: boolean): Promise<ReportAnswer> {
	const {LONGARM_REPORT_URL: url, LONGARM_REPORT_FILE: file} = process.env;
	if (url !== undefined) {
		const answer = await post(url, result, stop);
		if (answer) return answer;
	}
	if (file === undefined)
		throw usageError('LONGARM_REPORT_FILE is not set: only commands of longarm fanout can report');
	if (typeof result !== 'object' || result === null || Array.isArray(result)) {
		return {accepted: false, reason: 'not_an_object', detail: 'result must be a JSON object'};
	}
	return leave(file, result, stop);
}

/** Undefined if the runner cannot be reached. */
async function post(url: string, result: unknown, stop: boolean): Promise<ReportAnswer | undefined> {
	const {LONGARM_JOB_ID: jobId, LONGARM_ITEM_ID: itemId, LONGARM_REPORT_TOKEN: token} = process.env;
	const body = JSON.stringify({job_id: jobId, item_id: itemId, token, result, stop});
	try {
		const response = await fetch(url, {method: 'POST', body, signal: AbortSignal.timeout(ANSWER_MS)});
		return (await response.json()) as ReportAnswer;
	} catch {
		return undefined;
	}
}

/** Whole or not at all, and never over an earlier one: the link is made in one step, and fails if there is a file. */
function leave(file: string, result: object, stop: boolean): ReportAnswer {
	const partial = `${file}.${randomId()}`;
	writeFileSync(partial, JSON.stringify(result), {mode: 0o600});
	try {
		if (stop) writeFileSync(file + STOP_SUFFIX, '', {mode: 0o600});
		linkSync(partial, file);
		return {accepted: true};
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
		return {accepted: false, reason: 'not_running', detail: 'a result was reported before'};
	} finally {
		rmSync(partial, {force: true});
	}
}
