import type {RemoteProcess} from '../process/remote-process.js';
import type {RetainedPage} from './reconcile.js';

/** Output of the first page, and of the largest one; each page is twice as large as the one before. */
export const FIRST_PAGE_BYTES = 64 * 1024;
export const MAX_PAGE_BYTES = 1024 * 1024;

/** Reads retained output after an event; without `maxBytes` all of it. */
export type ReadRetained = (afterSeq: number, maxBytes?: number) => Promise<RetainedPage>;

/**
 * Reads missed events in pages and publishes each as it comes: a connection that is lost in between leaves less to do for
 * the next. Pages grow, so that they catch up with a process that goes on writing.
 */
export async function catchUpInPages(process: RemoteProcess, read: ReadRetained): Promise<void> {
	for (let isDone = await readPages(process, read); !isDone; ) {
		const page = await read(process.published);
		process.catchUp(page);
		// Output on disk may be more than one reply holds.
		isDone = process.isOver || (!page.more && !process.hasDropped);
	}
	process.isCatchingUp = false;
}

/** True if everything was read; false if it has to be read at once, because pages did not catch up or cannot be told apart. */
async function readPages(process: RemoteProcess, read: ReadRetained): Promise<boolean> {
	for (let maxBytes = FIRST_PAGE_BYTES; maxBytes <= MAX_PAGE_BYTES; maxBytes *= 2) {
		const page = await read(process.published, maxBytes);
		if (page.chunks.length > 0) {
			if (!process.catchUpPartly(page)) return false;
			continue;
		}
		// Only an empty page says how many events there are.
		process.catchUp(page);
		if (!process.hasDropped) return true;
	}
	return false;
}
