// Linux only: RLIMIT_RTTIME. `tree/tagged-orphans.ts` reads the tags back from /proc.
import {choosePrefix, MAX_CHILDREN, RLIMIT_BYTES, RLIMIT_RTTIME} from './descendant-tags.js';
import type {Libc} from './libc.js';

/** Offset of the hard limit in `struct rlimit`, behind the soft limit. */
const HARD_LIMIT = 8;

/**
 * Tags children of a program that is not a subreaper, such as one that uses the library. As with `DescendantTags` every
 * descendant inherits the tag; only the soft limit is changed, and only while the child is spawned, so that this program and
 * its other children keep their limits. The tag of a server above this program is the hard limit, which stays.
 */
export class TemporaryTags {
	readonly #libc: Libc;
	readonly #highest: bigint;
	readonly #lowest: bigint;
	#next: bigint;

	constructor(libc: Libc) {
		this.#libc = libc;
		this.#lowest = BigInt(choosePrefix(this.#read().readBigUInt64LE(HARD_LIMIT))) * MAX_CHILDREN;
		this.#highest = this.#lowest + MAX_CHILDREN - 1n;
		this.#next = this.#highest;
	}

	/** Calls `spawn` with the tag that a child started in it has; undefined where the system does not allow it. */
	tagWhile<T>(spawn: (tag: string | undefined) => T): T {
		if (this.#next <= this.#lowest) return spawn(undefined);
		const before = this.#read();
		const limit = Buffer.from(before);
		const tag = this.#next--;
		limit.writeBigUInt64LE(tag, 0);
		if (this.#libc.setrlimit(RLIMIT_RTTIME, limit) !== 0) return spawn(undefined);
		try {
			return spawn(String(tag));
		} finally {
			this.#libc.setrlimit(RLIMIT_RTTIME, before);
		}
	}

	/** True for a tag that a child was given. */
	isIssued(tag: string): boolean {
		const value = BigInt(tag);
		return value > this.#next && value <= this.#highest;
	}

	#read(): Buffer {
		const limit = Buffer.alloc(RLIMIT_BYTES);
		this.#libc.getrlimit(RLIMIT_RTTIME, limit);
		return limit;
	}
}
