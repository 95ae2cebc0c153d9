// Linux only: RLIMIT_RTTIME and RLIMIT_LOCKS. `tree/subreaper.ts` reads the tags back from /proc.
import {randomInt} from 'node:crypto';
import type {Libc} from './libc.js';

const RLIMIT_LOCKS = 10;
export const RLIMIT_RTTIME = 15;
export const RLIMIT_BYTES = 16;
/** Children that one program can tag. */
export const MAX_CHILDREN = 10n ** 10n;
/** Prefixes of programs that are not descendants of another one; 19 digits with the number of the child. */
const FIRST_PREFIX = 400_000_000;
const PREFIX_COUNT = 100_000_000;
/** Below a program that tags, prefixes are taken from so many below its own. */
const NESTED_PREFIX_COUNT = 1_000_000;
const LOWEST_PREFIX = 100_000_000;

/** Prefix of all tags and the tag of the next child. */
export interface TagState {
	readonly prefix: string;
	readonly next: string;
}

/**
 * Tags children so that their descendants are recognised even after they change group or session, daemonise, exec
 * another program or lose their parent. The tag is the limit, soft and hard, on the uninterrupted processor time of
 * real-time threads: every process inherits it and without privileges none can raise it. The values are thousands of
 * years, so it limits nothing. Each tag is lower than the one before, because this process has to set it for itself.
 *
 * A second limit, the same for all children, is the one on file locks, which Linux ignores.
 */
export class DescendantTags {
	readonly #libc: Libc;
	readonly #limit = Buffer.alloc(RLIMIT_BYTES);
	/** Common prefix of all tags of this program. */
	readonly prefix: string;
	readonly #lowest: bigint;
	readonly #highest: bigint;
	#next: bigint;

	/** Goes on with the tags of a program that this one has taken the place of. */
	constructor(libc: Libc, inherited?: TagState) {
		this.#libc = libc;
		const prefix = inherited ? Number(inherited.prefix) : choosePrefix(this.#readHardLimit());
		this.prefix = String(prefix);
		this.#lowest = BigInt(prefix) * MAX_CHILDREN;
		this.#highest = this.#lowest + MAX_CHILDREN - 1n;
		this.#next = inherited ? BigInt(inherited.next) : this.#highest;
	}

	handOver(): TagState {
		return {prefix: this.prefix, next: String(this.#next)};
	}

	/** Sets and returns the mark of all children; undefined where the system does not allow it. */
	setCommonMark(): string | undefined {
		return this.#setLimit(RLIMIT_LOCKS, this.#lowest) ? String(this.#lowest) : undefined;
	}

	/** Sets and returns the tag of the next child; undefined where the system does not allow it. */
	setNext(): string | undefined {
		if (this.#next <= this.#lowest) return undefined;
		const tag = this.#next--;
		return this.#setLimit(RLIMIT_RTTIME, tag) ? String(tag) : undefined;
	}

	/** True for a tag that `setNext` has returned. */
	isIssued(tag: string): boolean {
		const value = BigInt(tag);
		return value > this.#next && value <= this.#highest;
	}

	#readHardLimit(): bigint {
		this.#libc.getrlimit(RLIMIT_RTTIME, this.#limit);
		return this.#limit.readBigUInt64LE(8);
	}

	#setLimit(resource: number, value: bigint): boolean {
		this.#limit.writeBigUInt64LE(value, 0);
		this.#limit.writeBigUInt64LE(value, 8);
		return this.#libc.setrlimit(resource, this.#limit) === 0;
	}
}

/** A random prefix whose tags are below the present limit. */
export function choosePrefix(hardLimit: bigint): number {
	const above = Number(hardLimit / MAX_CHILDREN);
	if (above >= FIRST_PREFIX + PREFIX_COUNT) return FIRST_PREFIX + randomInt(PREFIX_COUNT);
	return Math.max(LOWEST_PREFIX, above - 1 - randomInt(NESTED_PREFIX_COUNT));
}
