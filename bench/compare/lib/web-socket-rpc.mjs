// WebSocket framing of our own on net.Socket: one read buffer that is used again, no allocation per frame, requests of one
// tick in one write, and an all-zero mask, so that nothing is masked.
import {randomBytes} from 'node:crypto';
import net from 'node:net';
import {parseWhole} from './messages.mjs';
import {Rpc} from './rpc.mjs';

/** Small enough that one turn of the event loop (libuv reads up to 32 times) stays near a millisecond. */
const READ_BUFFER_BYTES = 64 * 1024;
/** Larger outgoing messages are split into continuation frames. */
const MAX_FRAME_BYTES = 1024 * 1024;
const CONNECT_TIMEOUT_MS = 10_000;
const TEXT = 1;
const CLOSE = 8;
const PING = 9;
const PONG = 10;
const FIN = 0x80;
const MASKED = 0x80;

export class WebSocketRpc extends Rpc {
	#socket;
	#isCorked = false;
	#header = Buffer.alloc(14);
	#headerLength = 0;
	#isInPayload = false;
	/** Bytes of the payload still to come. */
	#need = 0;
	#isFinal = true;
	#opcode = 0;
	#control = null;

	static async connect(url) {
		const client = new WebSocketRpc();
		await client.#open(new URL(url));
		return client;
	}

	#open({hostname, host, port, pathname}) {
		return new Promise((resolve, reject) => {
			let handshake = '';
			let isOpen = false;
			const refuse = error => {
				clearTimeout(timer);
				reject(error);
				this.fail(error);
			};
			const timer = setTimeout(() => {
				reject(new Error('websocket connect timed out'));
				this.#socket.destroy();
			}, CONNECT_TIMEOUT_MS);
			const upgrade = text => {
				handshake += text;
				const end = handshake.indexOf('\r\n\r\n');
				if (end < 0) return;
				if (!handshake.startsWith('HTTP/1.1 101')) throw new Error(`upgrade refused: ${handshake.split('\r\n')[0]}`);
				isOpen = true;
				clearTimeout(timer);
				resolve();
				const rest = Buffer.from(handshake.slice(end + 4), 'latin1');
				if (rest.length) this.#feed(rest, rest.length);
			};
			const callback = (length, buffer) => {
				try {
					if (isOpen) this.#feed(buffer, length);
					else upgrade(buffer.latin1Slice(0, length));
				} catch (error) {
					refuse(error);
					this.#socket.destroy();
				}
				return true;
			};
			this.#socket = net.connect({
				host: hostname,
				port: Number(port || 80),
				noDelay: true,
				onread: {buffer: Buffer.allocUnsafeSlow(READ_BUFFER_BYTES), callback},
			});
			this.#socket.on('connect', () => {
				this.#socket.write(
					`GET ${pathname || '/'} HTTP/1.1\r\nHost: ${host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
						`Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}\r\nSec-WebSocket-Version: 13\r\n\r\n`,
				);
			});
			this.#socket.on('error', refuse);
			this.#socket.on('close', () => refuse(new Error('websocket closed')));
		});
	}

	#feed(buffer, length) {
		let at = 0;
		while (at < length) {
			if (!this.#isInPayload) {
				this.#header[this.#headerLength++] = buffer[at++];
				if (!this.#readHeader() || this.#need > 0) continue;
			}
			const take = Math.min(this.#need, length - at);
			const from = at;
			at += take;
			this.#need -= take;
			const isWhole = this.#need === 0;
			if (isWhole) this.#isInPayload = false;
			if (this.#opcode >= CLOSE) {
				this.#control = Buffer.concat([this.#control, buffer.subarray(from, at)]);
				if (isWhole) this.#takeControl(this.#opcode, this.#control);
			} else if (isWhole && this.#isFinal && this.assembler.length === 0) {
				this.deliver(parseWhole(buffer, from, at));
			} else {
				this.assembler.push(buffer, from, at);
				if (isWhole && this.#isFinal) this.deliver(this.assembler.finish());
			}
		}
	}

	/** Whether the header of a frame is complete. */
	#readHeader() {
		const header = this.#header;
		if (this.#headerLength < 2) return false;
		const short = header[1] & 0x7f;
		const wanted = short === 126 ? 4 : short === 127 ? 10 : 2;
		if (this.#headerLength < wanted) return false;
		this.#isFinal = (header[0] & FIN) !== 0;
		this.#opcode = header[0] & 0x0f;
		this.#need = short === 126 ? header.readUInt16BE(2) : short === 127 ? Number(header.readBigUInt64BE(2)) : short;
		this.#headerLength = 0;
		this.#isInPayload = true;
		if (this.#opcode >= CLOSE) this.#control = Buffer.alloc(0);
		return true;
	}

	#takeControl(opcode, data) {
		if (opcode === PING) this.#socket.write(frame(FIN | PONG, data));
		else if (opcode === CLOSE) {
			const code = data.length >= 2 ? data.readUInt16BE(0) : '';
			this.fail(new Error(`websocket close ${code} ${data.subarray(2)}`));
			this.#socket.destroy();
		}
	}

	sendText(text) {
		if (this.closed) return;
		if (!this.#isCorked) {
			this.#isCorked = true;
			this.#socket.cork();
			process.nextTick(() => {
				this.#isCorked = false;
				this.#socket.uncork();
			});
		}
		if (text.length <= MAX_FRAME_BYTES) {
			this.#socket.write(frame(FIN | TEXT, Buffer.from(text, 'utf8')));
			return;
		}
		const payload = Buffer.from(text, 'latin1');
		for (let at = 0; at < payload.length; at += MAX_FRAME_BYTES) {
			const isLast = at + MAX_FRAME_BYTES >= payload.length;
			const first = (isLast ? FIN : 0) | (at === 0 ? TEXT : 0);
			this.#socket.write(frame(first, payload.subarray(at, at + MAX_FRAME_BYTES)));
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

/** A client frame. The mask is zero, so the payload goes out as it is. */
function frame(first, payload) {
	const {length} = payload;
	const headerLength = length < 126 ? 6 : length < 65_536 ? 8 : 14;
	const bytes = Buffer.allocUnsafe(headerLength + length);
	bytes[0] = first;
	if (length < 126) bytes[1] = MASKED | length;
	else if (length < 65_536) {
		bytes[1] = MASKED | 126;
		bytes.writeUInt16BE(length, 2);
	} else {
		bytes[1] = MASKED | 127;
		bytes.writeBigUInt64BE(BigInt(length), 2);
	}
	bytes.writeUInt32BE(0, headerLength - 4);
	payload.copy(bytes, headerLength);
	return bytes;
}
