import {isUtf8} from 'node:buffer';
import {WebSocketConnection} from '../lib/web-socket-connection.mjs';
import {BINARY, CLOSE, CONTINUATION, frame, PING, PONG, TEXT} from '../lib/web-socket-frames.mjs';
import {classify} from './classify.mjs';
import {ANSWER_MS, MAX_FRAGMENTS} from './limits.mjs';
import {Link} from './link.mjs';
import {Violation} from './violation.mjs';

/** A connection to the WebSocket server of all episodes. */
export class WebSocketLink extends Link {
	#connection;

	static async open(server) {
		const link = new WebSocketLink();
		link.server = server;
		const handlers = {
			piece: (...piece) => link.receive(...piece),
			// A server that hangs up while something is on its way to it resets the connection: how it ends does not matter.
			closed: () => link.onClose(server.death),
		};
		try {
			const options = {allowHalfOpen: true, withinMs: ANSWER_MS};
			link.#connection = await WebSocketConnection.open(server.url, handlers, options);
		} catch (error) {
			throw new Violation(`no connection: ${error.message}`);
		}
		return link;
	}

	get stderr() {
		return this.server.stderr;
	}

	/** How the server takes a payload. */
	classify(payload) {
		if (typeof payload !== 'string' && !isUtf8(payload)) return [{kind: 'malformed'}];
		return [classify(String(payload))];
	}

	pack({payload, binary = typeof payload !== 'string'}, random) {
		const bytes = Buffer.from(payload);
		const opcode = binary ? BINARY : TEXT;
		if (!random.chance(0.08)) return frame(bytes, {opcode, mask: maskOf(random)});
		const pieces = [];
		const step = Math.max(1 + random.below(random.pick([3, 20, 100_000])), Math.ceil(bytes.length / MAX_FRAGMENTS));
		for (let start = 0; start === 0 || start < bytes.length; start += step) {
			const final = start + step >= bytes.length;
			const mask = maskOf(random);
			pieces.push(
				frame(bytes.subarray(start, start + step), {final, opcode: start === 0 ? opcode : CONTINUATION, mask}),
			);
			if (random.chance(0.1)) pieces.push(frame(random.bytes(random.below(126)), {opcode: random.pick([PING, PONG])}));
		}
		return Buffer.concat(pieces);
	}

	unfinished(random) {
		const whole = frame(Buffer.from('{"id":1,"method":"environment/status"}'));
		return random.chance(0.5)
			? whole.subarray(0, 1 + random.below(whole.length - 1))
			: frame(whole, {final: false, opcode: TEXT});
	}

	beginPieces() {
		this.#connection.beginPieces();
	}

	endPieces() {
		this.#connection.endPieces();
	}

	write(bytes) {
		this.#connection.socket.write(bytes);
	}

	pause() {
		this.#connection.socket.pause();
	}

	resume() {
		this.#connection.socket.resume();
	}

	halfClose() {
		this.#connection.socket.end();
	}

	close() {
		this.#connection.socket.write(frame(Buffer.from([0x03, 0xe8]), {opcode: CLOSE}));
	}

	destroy() {
		this.#connection.socket.destroy();
	}
}

/** Most frames go out as they are, which is quicker. */
function maskOf(random) {
	return random.chance(0.1) ? random.bits() : 0;
}
