/** The side of a connection that both transports share: pieces that were received are put together to messages. */
export class Link {
	/** Gets the bytes of each message. */
	onMessage = () => {};
	/** Gets what is wrong with the end of the connection, if anything is. */
	onClose = () => {};
	#pieces = [];

	/** A piece of a message as the reader of a transport gives it; its buffer may be used again. */
	receive(buffer, start, end, isLast) {
		this.#pieces.push(Buffer.from(buffer.subarray(start, end)));
		if (!isLast) return;
		const [whole, ...more] = this.#pieces.splice(0);
		this.onMessage(more.length > 0 ? Buffer.concat([whole, ...more]) : whole);
	}

	/** Bytes of one message follow in pieces: nothing else may come between them. */
	beginPieces() {}

	endPieces() {}
}
