import {BYTES_PER_TOKEN} from './exec-limits.js';

/** How much output a model is given. A token counts for four bytes. */
export type OutputPolicy = {readonly bytes: number} | {readonly tokens: number};

/** An estimate, rounded up. */
export function tokensOf(bytes: number): number {
	return Math.ceil(bytes / BYTES_PER_TOKEN);
}

export function byteBudget(policy: OutputPolicy): number {
	return 'tokens' in policy ? policy.tokens * BYTES_PER_TOKEN : policy.bytes;
}

/** A request can only lower what the model's own policy allows. */
export function lowerOf(asked: OutputPolicy, own: OutputPolicy): OutputPolicy {
	return byteBudget(asked) < byteBudget(own) ? asked : own;
}

export function lowered(policy: OutputPolicy, bytes: number): OutputPolicy {
	if ('tokens' in policy) return {tokens: Math.max(0, policy.tokens - tokensOf(bytes))};
	return {bytes: Math.max(0, policy.bytes - bytes)};
}

/** Takes the middle out of a text that is larger than the policy allows, and says there how much that was. */
export function cutMiddle(text: string, policy: OutputPolicy): string {
	const bytes = new TextEncoder().encode(text);
	const budget = byteBudget(policy);
	if (bytes.length <= budget) return text;
	const front = Math.floor(budget / 2);
	const headEnd = budget === 0 ? 0 : boundaryBefore(bytes, front);
	const tailStart = boundaryAfter(bytes, bytes.length - (budget - front));
	const decoder = new TextDecoder('utf-8', {ignoreBOM: true});
	const note =
		'tokens' in policy
			? `…${tokensOf(bytes.length - budget)} tokens truncated…`
			: `…${charactersIn(bytes.subarray(headEnd, tailStart))} chars truncated…`;
	return decoder.decode(bytes.subarray(0, headEnd)) + note + decoder.decode(bytes.subarray(tailStart));
}

/** The second and later bytes of a character. */
function isContinuation(byte: number | undefined): boolean {
	return byte !== undefined && (byte & 0xc0) === 0x80;
}

function boundaryBefore(bytes: Uint8Array, index: number): number {
	let at = index;
	while (isContinuation(bytes[at])) at--;
	return at;
}

function boundaryAfter(bytes: Uint8Array, index: number): number {
	let at = index;
	while (isContinuation(bytes[at])) at++;
	return at;
}

function charactersIn(bytes: Uint8Array): number {
	let count = 0;
	for (const byte of bytes) if (!isContinuation(byte)) count++;
	return count;
}
