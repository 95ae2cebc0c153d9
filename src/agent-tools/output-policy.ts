import {BYTES_PER_TOKEN} from './exec-limits.js';

/** Limit for the output in an answer. A token counts as four bytes. */
export type OutputPolicy = {readonly bytes: number} | {readonly tokens: number};

/** Number of tokens of so many bytes, rounded up. */
export function estimateTokens(bytes: number): number {
	return Math.ceil(bytes / BYTES_PER_TOKEN);
}

export function toMaxBytes(policy: OutputPolicy): number {
	return 'tokens' in policy ? policy.tokens * BYTES_PER_TOKEN : policy.bytes;
}

/** The stricter one; `own` if they are equal. */
export function minPolicy(asked: OutputPolicy, own: OutputPolicy): OutputPolicy {
	return toMaxBytes(asked) < toMaxBytes(own) ? asked : own;
}

export function reducePolicy(policy: OutputPolicy, bytes: number): OutputPolicy {
	if ('tokens' in policy) return {tokens: Math.max(0, policy.tokens - estimateTokens(bytes))};
	return {bytes: Math.max(0, policy.bytes - bytes)};
}

/** Replaces the middle of a text that exceeds the policy with a note of how much was truncated. */
export function cutMiddle(text: string, policy: OutputPolicy): string {
	const bytes = new TextEncoder().encode(text);
	const budget = toMaxBytes(policy);
	if (bytes.length <= budget) return text;
	const front = Math.floor(budget / 2);
	const headEnd = budget === 0 ? 0 : findBoundaryBefore(bytes, front);
	const tailStart = findBoundaryAfter(bytes, bytes.length - (budget - front));
	const decoder = new TextDecoder('utf-8', {ignoreBOM: true});
	const note =
		'tokens' in policy
			? `…${estimateTokens(bytes.length - budget)} tokens truncated…`
			: `…${countCharacters(bytes.subarray(headEnd, tailStart))} chars truncated…`;
	return decoder.decode(bytes.subarray(0, headEnd)) + note + decoder.decode(bytes.subarray(tailStart));
}

/** True for the second and later bytes of a UTF-8 character. */
function isContinuation(byte: number | undefined): boolean {
	return byte !== undefined && (byte & 0xc0) === 0x80;
}

function findBoundaryBefore(bytes: Uint8Array, index: number): number {
	let at = index;
	while (isContinuation(bytes[at])) at--;
	return at;
}

function findBoundaryAfter(bytes: Uint8Array, index: number): number {
	let at = index;
	while (isContinuation(bytes[at])) at++;
	return at;
}

function countCharacters(bytes: Uint8Array): number {
	let count = 0;
	for (const byte of bytes) if (!isContinuation(byte)) count++;
	return count;
}
