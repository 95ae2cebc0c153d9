import type {HeadTailBuffer} from '../shared/head-tail-buffer.js';
import {randomHex} from '../shared/random-id.js';
import {CHUNK_ID_BYTES} from './exec-limits.js';
import type {ObservedState} from './observed-process.js';
import {estimateTokens, type OutputPolicy} from './output-policy.js';
import {type AnswerHead, formatForModel, formatOutput, type ReadOutput} from './output-text.js';

/** Structured answer, for programs. `output` is truncated only if the call sets a limit. */
export interface StructuredAnswer {
	readonly chunk_id?: string;
	readonly wall_time_seconds: number;
	readonly exit_code?: number;
	readonly session_id?: number;
	readonly original_token_count?: number;
	readonly output: string;
	/** Present while the executor cannot be reached. */
	readonly executor?: typeof RECONNECTING;
	/** Reason why the process was lost, else absent. */
	readonly failure?: string;
}

/** Result of a call: text for a model, and structured content if there was a process. */
export type ToolAnswer =
	| {readonly isError: false; readonly text: string; readonly structured: StructuredAnswer}
	| {readonly isError: true; readonly text: string; readonly structured?: StructuredAnswer};

export const RECONNECTING = 'executor disconnected, reconnecting';
const PROCESS_FAILED = 'Unified exec process failed: ';

export interface Report {
	readonly sessionId: number;
	readonly state: ObservedState;
	readonly wallMs: number;
	readonly unread: HeadTailBuffer;
	readonly isReachable: boolean;
	readonly modelPolicy: OutputPolicy;
	readonly maxOutputTokens: number | undefined;
}

/** Formats the answer of a call, after its wait. */
export function toToolAnswer(report: Report): ToolAnswer {
	const {state, unread, modelPolicy, maxOutputTokens, isReachable} = report;
	const output: ReadOutput = {
		text: new TextDecoder('utf-8', {ignoreBOM: true}).decode(unread.markedBytes()),
		omitted: unread.omitted,
		originalTokens: estimateTokens(unread.total),
	};
	const head: AnswerHead = {
		chunkId: randomHex(CHUNK_ID_BYTES),
		wallSeconds: report.wallMs / 1000,
		...('exitCode' in state && {exitCode: state.exitCode}),
		...(state.kind === 'running' && {sessionId: report.sessionId}),
		...(state.kind === 'running' && !isReachable && {remark: RECONNECTING}),
	};
	const structured = toStructuredAnswer(head, output, maxOutputTokens);
	if (state.kind !== 'failed') {
		return {isError: false, text: formatForModel(head, output, modelPolicy, maxOutputTokens), structured};
	}
	const text = `${PROCESS_FAILED}${state.message}`;
	const outputText = output.text === '' ? '' : `\n${formatForModel(head, output, modelPolicy, maxOutputTokens)}`;
	return {isError: true, text: text + outputText, structured: {...structured, failure: state.message}};
}

function toStructuredAnswer(
	head: AnswerHead,
	output: ReadOutput,
	maxOutputTokens: number | undefined,
): StructuredAnswer {
	return {
		chunk_id: head.chunkId,
		wall_time_seconds: head.wallSeconds,
		...(head.exitCode !== undefined && {exit_code: head.exitCode}),
		...(head.sessionId !== undefined && {session_id: head.sessionId}),
		original_token_count: output.originalTokens,
		output: maxOutputTokens === undefined ? output.text : formatOutput(output, {tokens: maxOutputTokens}),
		...(head.remark !== undefined && {executor: RECONNECTING}),
	};
}
