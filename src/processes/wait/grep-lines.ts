import {patternThreads, requireValidPattern} from './pattern-threads.js';

/** Characters of lines that are matched at once, unless one line is longer. */
const MAX_BATCH_CHARS = 64 * 1024;

/**
 * Indexes of the lines that match a regular expression, which is tried in a thread of its own. Throws PATTERN_INVALID for one
 * that cannot be read, or takes too long. Each account has one thread at a time.
 */
export async function grepLines(pattern: string, lines: readonly string[], account: unknown): Promise<number[]> {
	requireValidPattern(pattern);
	const kept: number[] = [];
	for (const {first, text} of toBatches(lines)) {
		const {answer} = patternThreads.run(account, pattern, () => ({kind: 'filter', pattern, text}));
		const batch = await answer;
		if (batch?.kind === 'filter') for (const index of batch.kept) kept.push(first + index);
	}
	return kept;
}

function* toBatches(lines: readonly string[]): Generator<{readonly first: number; readonly text: string}> {
	let first = 0;
	let size = 0;
	for (const [index, line] of lines.entries()) {
		if (index > first && size + line.length > MAX_BATCH_CHARS) {
			yield {first, text: lines.slice(first, index).join('\n')};
			[first, size] = [index, 0];
		}
		size += line.length + 1;
	}
	if (first < lines.length) yield {first, text: lines.slice(first).join('\n')};
}
