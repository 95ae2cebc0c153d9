import type {Communicated} from '../../client/run/communicate.js';
import type {AttemptOutcome, ItemAttempt} from '../item-worker.js';
import type {ResultMode} from './command-spec.js';
import type {LeftReport} from './report-place.js';

/** Characters of the last line of standard error in a failure. */
const MAX_ERROR_CHARACTERS = 300;

/** A result that was found, or the reason that there is none. */
type Found =
	| {readonly kind: 'result'; readonly result: unknown; readonly stop?: boolean}
	| {readonly kind: 'none'; readonly error?: string};

/** Finds the result of a command that has ended, reports it, and says how the attempt ended. */
export async function reportCommand(
	attempt: ItemAttempt,
	ended: Communicated,
	left: LeftReport,
	mode: ResultMode,
): Promise<AttemptOutcome> {
	const {exitCode} = ended.exit;
	const found = findResult(ended, left, mode);
	if (found.kind === 'none') return toFailure(ended, found.error);
	const answer = await attempt.report(found.result, {stop: found.stop === true, exitCode});
	if (answer.accepted) return {kind: 'reported', exitCode};
	const {reason, detail} = answer;
	if (reason === 'schema') {
		return {kind: 'failed', reason: 'schema', error: `result does not match the schema: ${detail ?? ''}`, exitCode};
	}
	return {kind: 'unreported', exitCode, ...(reason === 'not_an_object' && {error: 'result must be a JSON object'})};
}

function findResult(ended: Communicated, left: LeftReport, mode: ResultMode): Found {
	const {exitCode} = ended.exit;
	if (left.kind === 'result') return left;
	if (left.kind === 'invalid') return {kind: 'none', error: left.error};
	if (mode === 'report' || exitCode !== 0) return {kind: 'none'};
	const printed: Found = mode === 'exit' ? {kind: 'none'} : parseOutput(ended, mode);
	if (printed.kind === 'result' || (mode !== 'exit' && mode !== 'any')) return printed;
	return {kind: 'result', result: {exit_code: 0, stdout: ended.stdout.text}};
}

/** The whole output, else its last line that is not blank. */
function parseOutput({stdout}: Communicated, mode: ResultMode): Found {
	const {text, omittedBytes} = stdout;
	const whole = mode === 'last-line' || omittedBytes > 0 ? undefined : parseJson(text);
	const lastLine = text.trimEnd().split('\n').at(-1) ?? '';
	const value = isObject(whole) ? whole : (parseJson(lastLine) ?? whole);
	// A value that is no object counts as no report, unless the output was asked for: then it is a wrong one.
	if (isObject(value)) return {kind: 'result', result: value};
	const isAsked = mode === 'stdout' || mode === 'last-line';
	return isAsked && value !== undefined ? {kind: 'result', result: value} : {kind: 'none'};
}

function isObject(value: unknown): boolean {
	return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function parseJson(text: string): unknown {
	try {
		return JSON.parse(text) as unknown;
	} catch {
		return undefined;
	}
}

function toFailure({exit, stderr}: Communicated, error: string | undefined): AttemptOutcome {
	const {exitCode} = exit;
	if (error !== undefined) return {kind: 'unreported', exitCode, error};
	if (exitCode === 0) return {kind: 'unreported', exitCode};
	const lastLine = stderr.text.trimEnd().split('\n').at(-1)?.slice(0, MAX_ERROR_CHARACTERS) ?? '';
	const text = `worker exited with code ${exitCode}${lastLine === '' ? '' : `: ${lastLine}`}`;
	return {kind: 'failed', reason: 'exit', error: text, exitCode};
}
