import type {Readable} from 'node:stream';
import {Escapes} from './escapes.js';
import {Gathered} from './gathered.js';

/** What may be typed ahead; beyond it the terminal waits. */
const TYPED_AHEAD_BYTES = 1024 * 1024;

/**
 * What is typed, for a process. It is looked at as it comes, even while the process or the link to it takes nothing, so
 * that there is always a way out.
 */
export class Keyboard {
	readonly input: AsyncIterable<Uint8Array>;
	/** Settles when `~.` was typed at the beginning of a line. */
	readonly left: Promise<void>;

	constructor(source: Readable) {
		const escapes = new Escapes();
		let leave!: () => void;
		this.left = new Promise(resolve => {
			leave = resolve;
		});
		this.input = new Gathered(source, TYPED_AHEAD_BYTES, chunk => {
			const {bytes, leaves} = escapes.scan(chunk);
			if (leaves) leave();
			return bytes;
		});
	}
}
