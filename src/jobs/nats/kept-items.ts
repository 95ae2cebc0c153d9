import type {JetStreamLink} from './jet-stream-link.js';
import {itemOf} from './job-subjects.js';

/** Number of items of a job that have a message in a stream, as its leader has it. */
export async function countKeptItems(link: JetStreamLink, stream: string, filter: string): Promise<number> {
	// Nothing is behind this number: only the total is told.
	return (await link.listSubjects(stream, filter, Number.MAX_SAFE_INTEGER)).total;
}

/** Items of a job that have a message in a stream, as its leader has it: 1 for each of `total` that has one. */
export async function markKeptItems(
	link: JetStreamLink,
	stream: string,
	filter: string,
	total: number,
): Promise<Uint8Array> {
	const kept = new Uint8Array(total);
	for (let from = 0; ; ) {
		const page = await link.listSubjects(stream, filter, from);
		for (const subject of page.subjects) kept[itemOf(subject)] = 1;
		from += page.subjects.length;
		if (page.subjects.length === 0 || from >= page.total) return kept;
	}
}
