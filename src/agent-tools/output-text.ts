import {omissionMarker} from '../shared/head-tail-buffer.js';
import {DEFAULT_OUTPUT_TOKENS, MAX_ANSWER_TENTHS} from './exec-limits.js';
import {cutMiddle, estimateTokens, minPolicy, type OutputPolicy, reducePolicy, toMaxBytes} from './output-policy.js';

/** Output of one call, with the omission marker in place of dropped bytes. */
export interface ReadOutput {
	readonly text: string;
	/** Number of bytes dropped at the marker. */
	readonly omitted: number;
	/** Estimate for the whole output, dropped bytes included. */
	readonly originalTokens: number;
}

/** Facts about a command in front of its output. */
export interface AnswerHead {
	readonly chunkId: string;
	readonly wallSeconds: number;
	readonly exitCode?: number | undefined;
	readonly sessionId?: number | undefined;
	/** Note about the environment. */
	readonly remark?: string | undefined;
}

/**
 * Answer for a model. The output is truncated to the stricter of both policies; if the whole answer exceeds the model's
 * policy by more than a fifth, the output is truncated further until it fits.
 */
export function formatForModel(
	head: AnswerHead,
	output: ReadOutput,
	modelPolicy: OutputPolicy,
	maxOutputTokens: number = DEFAULT_OUTPUT_TOKENS,
): string {
	const header = formatHeader(head, output.originalTokens);
	const maxBodyBytes = Math.max(0, toMaxBytes(enlargePolicy(modelPolicy)) - countBytes(header));
	let policy = minPolicy({tokens: maxOutputTokens}, modelPolicy);
	let body = formatOutput(output, policy);
	for (
		let excess = countBytes(body) - maxBodyBytes;
		excess > 0 && toMaxBytes(policy) > 0;
		excess = countBytes(body) - maxBodyBytes
	) {
		policy = reducePolicy(policy, excess);
		body = formatOutput(output, policy);
	}
	return header + body;
}

/** Truncates output to a policy, with a warning in front if something was cut. */
export function formatOutput({text, omitted, originalTokens}: ReadOutput, policy: OutputPolicy): string {
	const size = countBytes(text);
	const fits = size <= toMaxBytes(policy);
	const marker = omissionMarker(omitted);
	if (fits) return omitted === 0 || text.includes(marker) ? text : `${marker}\n${text}`;
	const cut = cutMiddle(text, policy);
	if (omitted === 0) return `${formatWarning(estimateTokens(size))}Total output lines: ${countLines(text)}\n\n${cut}`;
	return `${formatWarning(originalTokens)}${cut.includes(marker) ? '' : `${marker}\n`}\n${cut}`;
}

function formatHeader(head: AnswerHead, originalTokens: number): string {
	const lines = [`Chunk ID: ${head.chunkId}`, `Wall time: ${head.wallSeconds.toFixed(4)} seconds`];
	if (head.exitCode !== undefined) lines.push(`Process exited with code ${head.exitCode}`);
	if (head.sessionId !== undefined) lines.push(`Process running with session ID ${head.sessionId}`);
	if (head.remark !== undefined) lines.push(head.remark);
	lines.push(`Original token count: ${originalTokens}`, 'Output:', '');
	return lines.join('\n');
}

function formatWarning(tokens: number): string {
	return `Warning: truncated output (original token count: ${tokens})\n`;
}

function enlargePolicy(policy: OutputPolicy): OutputPolicy {
	if ('tokens' in policy) return {tokens: Math.ceil((policy.tokens * MAX_ANSWER_TENTHS) / 10)};
	return {bytes: Math.ceil((policy.bytes * MAX_ANSWER_TENTHS) / 10)};
}

function countBytes(text: string): number {
	return new TextEncoder().encode(text).length;
}

/** Number of lines; the last one counts with or without a line break. */
function countLines(text: string): number {
	const ends = text.split('\n').length - 1;
	return text === '' || text.endsWith('\n') ? ends : ends + 1;
}
