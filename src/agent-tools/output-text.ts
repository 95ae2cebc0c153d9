import {omissionMarker} from '../shared/head-tail-buffer.js';
import {ANSWER_TENTHS, DEFAULT_OUTPUT_TOKENS} from './exec-limits.js';
import {byteBudget, cutMiddle, lowered, lowerOf, type OutputPolicy, tokensOf} from './output-policy.js';

/** Output as it was read, the omission marker in its place. */
export interface ReadOutput {
	readonly text: string;
	/** Bytes that are missing at the marker. */
	readonly omitted: number;
	/** Of everything that was written, missing bytes included. */
	readonly originalTokens: number;
}

/** What is told about a command besides its output. */
export interface AnswerHead {
	readonly chunkId: string;
	readonly wallSeconds: number;
	readonly exitCode?: number | undefined;
	readonly sessionId?: number | undefined;
	/** Something that the model has to know of the machine. */
	readonly remark?: string | undefined;
}

/**
 * The answer a model reads. Its output follows the lower of both policies; if the whole is more than a fifth above the
 * model's policy, the output is cut further until it fits.
 */
export function modelText(
	head: AnswerHead,
	output: ReadOutput,
	modelPolicy: OutputPolicy,
	maxOutputTokens: number = DEFAULT_OUTPUT_TOKENS,
): string {
	const header = headerText(head, output.originalTokens);
	const room = Math.max(0, byteBudget(grown(modelPolicy)) - sizeOf(header));
	let policy = lowerOf({tokens: maxOutputTokens}, modelPolicy);
	let body = outputBody(output, policy);
	for (let excess = sizeOf(body) - room; excess > 0 && byteBudget(policy) > 0; excess = sizeOf(body) - room) {
		policy = lowered(policy, excess);
		body = outputBody(output, policy);
	}
	return header + body;
}

/** The output under a policy, with a warning in front of it when something was cut. */
export function outputBody({text, omitted, originalTokens}: ReadOutput, policy: OutputPolicy): string {
	const size = sizeOf(text);
	const fits = size <= byteBudget(policy);
	const marker = omissionMarker(omitted);
	if (fits) return omitted === 0 || text.includes(marker) ? text : `${marker}\n${text}`;
	const cut = cutMiddle(text, policy);
	if (omitted === 0) return `${warning(tokensOf(size))}Total output lines: ${linesIn(text)}\n\n${cut}`;
	return `${warning(originalTokens)}${cut.includes(marker) ? '' : `${marker}\n`}\n${cut}`;
}

function headerText(head: AnswerHead, originalTokens: number): string {
	const lines = [`Chunk ID: ${head.chunkId}`, `Wall time: ${head.wallSeconds.toFixed(4)} seconds`];
	if (head.exitCode !== undefined) lines.push(`Process exited with code ${head.exitCode}`);
	if (head.sessionId !== undefined) lines.push(`Process running with session ID ${head.sessionId}`);
	if (head.remark !== undefined) lines.push(head.remark);
	lines.push(`Original token count: ${originalTokens}`, 'Output:', '');
	return lines.join('\n');
}

function warning(tokens: number): string {
	return `Warning: truncated output (original token count: ${tokens})\n`;
}

function grown(policy: OutputPolicy): OutputPolicy {
	if ('tokens' in policy) return {tokens: Math.ceil((policy.tokens * ANSWER_TENTHS) / 10)};
	return {bytes: Math.ceil((policy.bytes * ANSWER_TENTHS) / 10)};
}

function sizeOf(text: string): number {
	return new TextEncoder().encode(text).length;
}

/** A last line counts with or without its end. */
function linesIn(text: string): number {
	const ends = text.split('\n').length - 1;
	return text === '' || text.endsWith('\n') ? ends : ends + 1;
}
