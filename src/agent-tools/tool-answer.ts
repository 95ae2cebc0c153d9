import type {HeadTailBuffer} from '../shared/head-tail-buffer.js';
import {randomHex} from '../shared/random-id.js';
import {CHUNK_ID_BYTES} from './exec-limits.js';
import type {Life} from './observed-process.js';
import {type OutputPolicy, tokensOf} from './output-policy.js';
import {type AnswerHead, modelText, outputBody, type ReadOutput} from './output-text.js';

/** An answer for programs. `output` is cut only if the call said how much it wants. */
export interface StructuredAnswer {
	readonly chunk_id?: string;
	readonly wall_time_seconds: number;
	readonly exit_code?: number;
	readonly session_id?: number;
	readonly original_token_count?: number;
	readonly output: string;
	/** Present while the executor cannot be reached. */
	readonly executor?: typeof RECONNECTING;
	/** Present when the process was lost: why. */
	readonly failure?: string;
}

/** What a call comes to: text for a model, and the same for a program if there was a process. */
export type ToolAnswer =
	| {readonly isError: false; readonly text: string; readonly structured: StructuredAnswer}
	| {readonly isError: true; readonly text: string; readonly structured?: StructuredAnswer};

export const RECONNECTING = 'executor disconnected, reconnecting';
const PROCESS_FAILED = 'Unified exec process failed: ';

export interface Report {
	readonly sessionId: number;
	readonly life: Life;
	readonly wallMs: number;
	readonly unread: HeadTailBuffer;
	readonly isReachable: boolean;
	readonly modelPolicy: OutputPolicy;
	readonly maxOutputTokens: number | undefined;
}

/** What is to be said of a command after it was waited for. */
export function toToolAnswer(report: Report): ToolAnswer {
	const {life, unread, modelPolicy, maxOutputTokens, isReachable} = report;
	const output: ReadOutput = {
		text: new TextDecoder('utf-8', {ignoreBOM: true}).decode(unread.markedBytes()),
		omitted: unread.omitted,
		originalTokens: tokensOf(unread.total),
	};
	const head: AnswerHead = {
		chunkId: randomHex(CHUNK_ID_BYTES),
		wallSeconds: report.wallMs / 1000,
		...('exitCode' in life && {exitCode: life.exitCode}),
		...(life.kind === 'running' && {sessionId: report.sessionId}),
		...(life.kind === 'running' && !isReachable && {remark: RECONNECTING}),
	};
	const structured = structuredAnswer(head, output, maxOutputTokens);
	if (life.kind !== 'failed') {
		return {isError: false, text: modelText(head, output, modelPolicy, maxOutputTokens), structured};
	}
	const text = `${PROCESS_FAILED}${life.message}`;
	const said = output.text === '' ? '' : `\n${modelText(head, output, modelPolicy, maxOutputTokens)}`;
	return {isError: true, text: text + said, structured: {...structured, failure: life.message}};
}

function structuredAnswer(head: AnswerHead, output: ReadOutput, maxOutputTokens: number | undefined): StructuredAnswer {
	return {
		chunk_id: head.chunkId,
		wall_time_seconds: head.wallSeconds,
		...(head.exitCode !== undefined && {exit_code: head.exitCode}),
		...(head.sessionId !== undefined && {session_id: head.sessionId}),
		original_token_count: output.originalTokens,
		output: maxOutputTokens === undefined ? output.text : outputBody(output, {tokens: maxOutputTokens}),
		...(head.remark !== undefined && {executor: RECONNECTING}),
	};
}
