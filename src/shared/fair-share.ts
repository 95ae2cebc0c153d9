/**
 * Chooses who makes room when a limit that several holders share is reached: the oldest entry of the holder that has most.
 * Undefined if the newcomer's holder would have at least as many itself, which is refused then. So a holder can use a whole
 * limit that nobody else needs, and cannot keep others out.
 */
export function findSurplus<T>(all: Iterable<T>, holderOf: (entry: T) => string, newcomer: string): T | undefined {
	const counts = countByHolder(all, holderOf);
	const most = Math.max(0, ...counts.values());
	return most > (counts.get(newcomer) ?? 0) + 1
		? findFirst(all, entry => counts.get(holderOf(entry)) === most)
		: undefined;
}

/** The oldest entry of the holder that has most. */
export function findMostCommon<T>(all: Iterable<T>, holderOf: (entry: T) => string): T | undefined {
	const counts = countByHolder(all, holderOf);
	const most = Math.max(0, ...counts.values());
	return findFirst(all, entry => counts.get(holderOf(entry)) === most);
}

function countByHolder<T>(all: Iterable<T>, holderOf: (entry: T) => string): Map<string, number> {
	const counts = new Map<string, number>();
	for (const entry of all) counts.set(holderOf(entry), (counts.get(holderOf(entry)) ?? 0) + 1);
	return counts;
}

function findFirst<T>(all: Iterable<T>, isWanted: (entry: T) => boolean): T | undefined {
	for (const entry of all) if (isWanted(entry)) return entry;
	return undefined;
}
