import {randomBytes} from 'node:crypto';
import net from 'node:net';
import {FrameReader, frame, PING, PONG} from './web-socket-frames.mjs';

/** Small enough that one turn of the event loop (libuv reads up to 32 times) stays near a millisecond. */
const READ_BUFFER_BYTES = 64 * 1024;
const CONNECT_TIMEOUT_MS = 10_000;

/**
 * The client side of a WebSocket on a socket of its own: the caller writes frames, or any other bytes, as they go over the
 * wire. One read buffer is used again and again, so what `piece` gets is valid during the call only. Pings are answered.
 */
export class WebSocketConnection {
	/** The socket, to write to, to pause and to end. */
	socket;
	/** Pongs that wait for the end of a frame; undefined while none is under way. */
	#heldPongs;

	/**
	 * Resolves once the server has upgraded the connection. `piece` and `control` are those of a FrameReader; `closed(error)`
	 * is called once, with the reason.
	 */
	static async open(url, handlers, {allowHalfOpen = false, withinMs = CONNECT_TIMEOUT_MS} = {}) {
		const connection = new WebSocketConnection();
		await connection.#open(new URL(url), handlers, {allowHalfOpen, withinMs});
		return connection;
	}

	#open({hostname, host, port, pathname}, {piece, control = () => {}, closed}, {allowHalfOpen, withinMs}) {
		return new Promise((resolve, reject) => {
			const reader = new FrameReader({piece, control: (opcode, data) => this.#answer(opcode, data, control)});
			let handshake = '';
			let isOpen = false;
			let isClosed = false;
			const fail = error => {
				clearTimeout(timer);
				reject(error);
				if (!isClosed) closed(error);
				isClosed = true;
			};
			const timer = setTimeout(() => {
				fail(new Error('websocket connect timed out'));
				this.socket.destroy();
			}, withinMs);
			const upgrade = text => {
				handshake += text;
				const end = handshake.indexOf('\r\n\r\n');
				if (end < 0) return;
				if (!handshake.startsWith('HTTP/1.1 101')) throw new Error(`upgrade refused: ${handshake.split('\r\n')[0]}`);
				isOpen = true;
				clearTimeout(timer);
				resolve();
				reader.feed(Buffer.from(handshake.slice(end + 4), 'latin1'));
			};
			const callback = (length, buffer) => {
				try {
					if (isOpen) reader.feed(buffer, length);
					else upgrade(buffer.latin1Slice(0, length));
				} catch (error) {
					fail(error);
					this.socket.destroy();
				}
				return true;
			};
			this.socket = net.connect({
				host: hostname,
				port: Number(port || 80),
				noDelay: true,
				allowHalfOpen,
				onread: {buffer: Buffer.allocUnsafeSlow(READ_BUFFER_BYTES), callback},
			});
			this.socket.on('connect', () => this.socket.write(upgradeRequest(host, pathname)));
			this.socket.on('end', () => this.socket.destroy());
			this.socket.on('error', fail);
			this.socket.on('close', () => fail(new Error('websocket closed')));
		});
	}

	/** A frame is written in pieces from now on: pings are answered behind it. */
	beginPieces() {
		this.#heldPongs ??= [];
	}

	endPieces() {
		const pongs = this.#heldPongs ?? [];
		this.#heldPongs = undefined;
		for (const pong of pongs) this.socket.write(pong);
	}

	#answer(opcode, payload, control) {
		if (opcode !== PING) return control(opcode, payload);
		const pong = frame(payload, {opcode: PONG});
		if (this.#heldPongs) this.#heldPongs.push(pong);
		else this.socket.write(pong);
	}
}

function upgradeRequest(host, path) {
	const key = randomBytes(16).toString('base64');
	return (
		`GET ${path || '/'} HTTP/1.1\r\nHost: ${host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
		`Sec-WebSocket-Key: ${key}\r\nSec-WebSocket-Version: 13\r\n\r\n`
	);
}
