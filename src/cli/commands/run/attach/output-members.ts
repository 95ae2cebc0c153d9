import type {Collected} from '../../../../client/run/collector.js';

const REPLACEMENT = '\uFFFD';
const CUT_CHARACTER = new RegExp(
	`${REPLACEMENT}{0,3}(\\n\\.\\.\\. \\d+ bytes omitted \\.\\.\\.\\n)${REPLACEMENT}{0,3}`,
);

/** Output of a stream as it is kept: head and tail, with a line between them if there is more. */
export type MarkedOutput = Pick<Collected, 'markedBytes' | 'totalBytes' | 'omittedBytes'>;

/** Members of a JSON object for a stream: text, with a line for what is missing in the middle; base64 for bytes that are none. */
export function toOutputMembers(
	name: string,
	{markedBytes, totalBytes, omittedBytes}: MarkedOutput,
): Record<string, unknown> {
	const counted = {[`${name}Bytes`]: totalBytes};
	try {
		return {[name]: new TextDecoder('utf-8', {fatal: true, ignoreBOM: true}).decode(markedBytes), ...counted};
	} catch {
		// A character may have been cut where the middle is missing.
		const text = new TextDecoder('utf-8', {ignoreBOM: true}).decode(markedBytes).replace(CUT_CHARACTER, '$1');
		if (omittedBytes > 0 && !text.includes(REPLACEMENT)) return {[name]: text, ...counted};
		return {[name]: Buffer.from(markedBytes).toString('base64'), [`${name}Encoding`]: 'base64', ...counted};
	}
}
