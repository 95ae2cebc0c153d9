import {randomInt} from 'node:crypto';
import {readProc} from '../../tree/proc.js';
import type {Libc} from './libc.js';

const RLIMIT_RTTIME = 15;
const RLIMIT_BYTES = 16;
/** Digits of the number that tells programs apart, and of the one that tells its children apart. */
const PROGRAM_DIGITS = 8;
const CHILD_DIGITS = 10;
const LINE = /^Max realtime timeout\s+(\d+)/m;

/**
 * Marks children so that their descendants can be recognised whatever they do: change group or session, detach
 * themselves, replace their program, lose their parents. The tag is the soft limit on the uninterrupted processor time
 * of real-time threads: every process inherits it and nobody lowers it. The values are thousands of years, so it limits
 * nothing.
 */
export class DescendantTags {
	readonly #libc: Libc;
	readonly #limit = Buffer.alloc(RLIMIT_BYTES);
	/** What every tag of this program begins with. */
	readonly prefix = `4${String(randomInt(10 ** PROGRAM_DIGITS)).padStart(PROGRAM_DIGITS, '0')}`;
	#count = 0;

	constructor(libc: Libc) {
		this.#libc = libc;
		libc.getrlimit(RLIMIT_RTTIME, this.#limit);
	}

	/** The tag that whatever is started next will carry; undefined where the system does not allow it. */
	next(): string | undefined {
		const tag = `${this.prefix}${String(++this.#count).padStart(CHILD_DIGITS, '0')}`;
		this.#limit.writeBigUInt64LE(BigInt(tag));
		return this.#libc.setrlimit(RLIMIT_RTTIME, this.#limit) === 0 ? tag : undefined;
	}
}

/** The tag a process carries, if it is one of ours or of another program's. */
export function descendantTagOf(pid: number): string | undefined {
	try {
		return LINE.exec(readProc(`${pid}/limits`))?.[1];
	} catch {
		return undefined;
	}
}
