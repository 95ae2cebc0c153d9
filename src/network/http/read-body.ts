import {MAX_MESSAGE_BYTES} from '../../protocol/wire/message-limits.js';
import {formatSize} from '../../shared/units.js';
import type {ByteBudget} from '../byte-budget.js';
import {bodyFailedError} from '../network-failures.js';
import type {HttpResponseHead} from './exchange.js';
import type {BodyPieces} from './response-body.js';

/** Part of a message that is reserved for the response head, at its largest, and the JSON around it. */
const RESERVED_HEAD_BYTES = 2 * 1024 * 1024;
/** Largest body that fits into a reply, as base64, with its head. */
export const MAX_BUFFERED_BODY_BYTES = (MAX_MESSAGE_BYTES / 4) * 3 - RESERVED_HEAD_BYTES;
/** Bytes of the bodies of one client that are being collected or wait to be sent. */
export const MAX_BUFFERED_TOTAL_BYTES = 128 * 1024 * 1024;

/** Collects a whole body. Each piece is reserved in the budget until release(). */
export class BufferedBody {
	readonly #budget: ByteBudget;
	#reservedBytes = 0;

	constructor(budget: ByteBudget) {
		this.#budget = budget;
	}

	async read({headers}: HttpResponseHead, body: BodyPieces): Promise<Buffer> {
		const contentLength = headers.find(({name}) => name === 'content-length')?.value;
		const pieces: Buffer[] = [];
		for (;;) {
			const waiting = body.waitForData();
			if (waiting) await waiting;
			const piece = body.take();
			// The content-length counts only if there is a body: the response to HEAD has one without.
			if (piece.length === 0) return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
			const isTooLarge = this.#reservedBytes + piece.length > MAX_BUFFERED_BODY_BYTES;
			if (isTooLarge || Number(contentLength) > MAX_BUFFERED_BODY_BYTES) throw bodyTooLargeError();
			if (!this.#budget.tryReserve(piece.length)) throw tooManyBodiesError();
			this.#reservedBytes += piece.length;
			pieces.push(piece);
		}
	}

	/** Returns the reserved bytes to the budget, when the body is no longer needed. */
	release(): void {
		this.#budget.release(this.#reservedBytes);
		this.#reservedBytes = 0;
	}
}

function bodyTooLargeError(): Error {
	return bodyFailedError(
		`it is larger than the ${formatSize(MAX_BUFFERED_BODY_BYTES)} that fit a reply; ask for it with streamResponse`,
	);
}

function tooManyBodiesError(): Error {
	const limit = formatSize(MAX_BUFFERED_TOTAL_BYTES);
	return bodyFailedError(
		`the bodies of this connection take more than ${limit} at once; ask for them with streamResponse`,
	);
}
