const NEWLINE = 0x0a;

/** Splits bytes into lines: `piece(buffer, start, end, isLast)` gets each line, without its newline, as it arrives. */
export class LineReader {
	#piece;

	constructor(piece) {
		this.#piece = piece;
	}

	feed(buffer) {
		let at = 0;
		while (at < buffer.length) {
			const end = buffer.indexOf(NEWLINE, at);
			if (end < 0) {
				this.#piece(buffer, at, buffer.length, false);
				return;
			}
			this.#piece(buffer, at, end, true);
			at = end + 1;
		}
	}
}

/** A function that writes to a stream; all writes of one turn of the event loop leave as one. */
export function gatheredWriter(stream) {
	let isCorked = false;
	return bytes => {
		if (!isCorked) {
			isCorked = true;
			stream.cork();
			process.nextTick(() => {
				isCorked = false;
				stream.uncork();
			});
		}
		stream.write(bytes);
	};
}
