import {gatheredWriter} from '../../lib/streams.mjs';
import {WebSocketConnection} from '../../lib/web-socket-connection.mjs';
import {CLOSE, CONTINUATION, frame, TEXT} from '../../lib/web-socket-frames.mjs';
import {Rpc} from './rpc.mjs';

/** Larger outgoing messages are split into continuation frames. */
const MAX_FRAME_BYTES = 1024 * 1024;

/** The protocol on a WebSocket: no allocation per frame received, and requests of one tick in one write. */
export class WebSocketRpc extends Rpc {
	#socket;
	#write;

	static async connect(url) {
		const client = new WebSocketRpc();
		await client.#open(url);
		return client;
	}

	async #open(url) {
		const {socket} = await WebSocketConnection.open(url, {
			piece: (buffer, start, end, isLast) => this.receive(buffer, start, end, isLast),
			control: (opcode, payload) => this.#takeControl(opcode, payload),
			closed: error => this.fail(error),
		});
		this.#socket = socket;
		this.#write = gatheredWriter(socket);
	}

	#takeControl(opcode, payload) {
		if (opcode !== CLOSE) return;
		const code = payload.length >= 2 ? payload.readUInt16BE(0) : '';
		throw new Error(`websocket close ${code} ${payload.subarray(2)}`);
	}

	sendText(text) {
		if (this.closed) return;
		if (text.length <= MAX_FRAME_BYTES) {
			this.#write(frame(Buffer.from(text, 'utf8')));
			return;
		}
		const payload = Buffer.from(text, 'latin1');
		for (let at = 0; at < payload.length; at += MAX_FRAME_BYTES) {
			const final = at + MAX_FRAME_BYTES >= payload.length;
			const opcode = at === 0 ? TEXT : CONTINUATION;
			this.#write(frame(payload.subarray(at, at + MAX_FRAME_BYTES), {final, opcode}));
		}
	}

	pause() {
		this.#socket.pause();
	}

	resume() {
		this.#socket.resume();
	}

	close() {
		this.onClosed = null;
		this.#socket.destroy();
		this.fail(new Error('closed by bench'));
	}
}
