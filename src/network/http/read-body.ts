import {MAX_MESSAGE_BYTES} from '../../protocol/wire/message-limits.js';
import type {BoundedReader} from '../../shared/node/bounded-reader.js';
import {formatSize} from '../../shared/units.js';
import type {ByteBudget} from '../byte-budget.js';
import {bodyFailed} from '../network-failures.js';
import type {HttpResponseHead} from './exchange.js';

/** For the head of the response, at its largest, and what is around it. */
const ENVELOPE_BYTES = 2 * 1024 * 1024;
/** Largest body that fits a reply, as base64, with its head. */
export const MAX_BUFFERED_BODY_BYTES = (MAX_MESSAGE_BYTES / 4) * 3 - ENVELOPE_BYTES;
/** Bodies that are being collected or wait to be sent, for one client. */
export const BUFFERED_BODIES_BYTES = 128 * 1024 * 1024;

/** A body that is kept whole. What it takes is booked in the budget, piece by piece, until it is released. */
export class BufferedBody {
	readonly #budget: ByteBudget;
	#bookedBytes = 0;

	constructor(budget: ByteBudget) {
		this.#budget = budget;
	}

	async read({headers}: HttpResponseHead, body: BoundedReader): Promise<Buffer> {
		const announced = headers.find(({name}) => name === 'content-length')?.value;
		const pieces: Buffer[] = [];
		for (;;) {
			await body.waitForData();
			const piece = body.take();
			// Only now does an announced length count: the answer to HEAD has one and no body.
			if (piece.length === 0) return Buffer.concat(pieces);
			const isTooLarge = this.#bookedBytes + piece.length > MAX_BUFFERED_BODY_BYTES;
			if (isTooLarge || Number(announced) > MAX_BUFFERED_BODY_BYTES) throw tooLarge();
			if (!this.#budget.add(piece.length)) throw tooMany();
			this.#bookedBytes += piece.length;
			pieces.push(piece);
		}
	}

	/** The body is no longer held. */
	release(): void {
		this.#budget.remove(this.#bookedBytes);
		this.#bookedBytes = 0;
	}
}

function tooLarge(): Error {
	return bodyFailed(
		`it is larger than the ${formatSize(MAX_BUFFERED_BODY_BYTES)} that fit a reply; ask for it with streamResponse`,
	);
}

function tooMany(): Error {
	const limit = formatSize(BUFFERED_BODIES_BYTES);
	return bodyFailed(`the bodies of this connection take more than ${limit} at once; ask for them with streamResponse`);
}
