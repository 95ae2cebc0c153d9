// Linux only: RLIMIT_RTTIME. `tree/subreaper.ts` reads the tags back from /proc.
import {randomInt} from 'node:crypto';
import type {Libc} from './libc.js';

const RLIMIT_RTTIME = 15;
const RLIMIT_BYTES = 16;
/** Digits that identify this program, and digits that identify one of its children. */
const PROGRAM_DIGITS = 8;
const CHILD_DIGITS = 10;

/**
 * Tags children so that their descendants are recognised even after they change group or session, daemonise, exec
 * another program or lose their parent. The tag is the soft limit on the uninterrupted processor time of real-time
 * threads: every process inherits it and in practice none lowers it. The values are thousands of years, so it limits
 * nothing.
 */
export class DescendantTags {
	readonly #libc: Libc;
	readonly #limit = Buffer.alloc(RLIMIT_BYTES);
	/** Common prefix of all tags of this program. */
	readonly prefix = `4${String(randomInt(10 ** PROGRAM_DIGITS)).padStart(PROGRAM_DIGITS, '0')}`;
	#count = 0;

	constructor(libc: Libc) {
		this.#libc = libc;
		libc.getrlimit(RLIMIT_RTTIME, this.#limit);
	}

	/** Sets and returns the tag of the next child; undefined where the system does not allow it. */
	setNext(): string | undefined {
		const tag = `${this.prefix}${String(++this.#count).padStart(CHILD_DIGITS, '0')}`;
		this.#limit.writeBigUInt64LE(BigInt(tag));
		return this.#libc.setrlimit(RLIMIT_RTTIME, this.#limit) === 0 ? tag : undefined;
	}
}
