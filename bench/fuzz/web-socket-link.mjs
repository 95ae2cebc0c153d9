import {isUtf8} from 'node:buffer';
import {connect} from 'node:net';
import {MAX_FRAGMENTS} from './bounds.mjs';
import {BINARY, CLOSE, CONTINUATION, frame, frameHead, maskOf, PING, PONG, TEXT} from './frames.mjs';
import {judge} from './judge.mjs';
import {Violation} from './violation.mjs';

/** A WebSocket spoken by hand: any bytes can be sent over it. */
export class WebSocketLink {
	#socket;
	#pending = Buffer.alloc(0);
	#parts = [];
	onMessage = () => {};
	onClose = () => {};

	static async open(server) {
		const link = new WebSocketLink();
		await link.#connect(server);
		return link;
	}

	async #connect(server) {
		this.server = server;
		const {hostname, port, host} = new URL(server.url);
		const socket = connect({host: hostname, port: Number(port), allowHalfOpen: true, noDelay: true});
		this.#socket = socket;
		await new Promise((resolve, reject) => {
			let head = '';
			const read = data => {
				head += data.toString('latin1');
				const end = head.indexOf('\r\n\r\n');
				if (end < 0) return;
				socket.off('data', read);
				if (!head.startsWith('HTTP/1.1 101 ')) reject(new Violation(`no upgrade: ${head.slice(0, end)}`));
				else resolve();
				socket.on('data', bytes => this.#read(bytes));
				this.#read(Buffer.from(head.slice(end + 4), 'latin1'));
			};
			socket.on('data', read);
			socket.on('error', reject);
			socket.write(
				`GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
					'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
			);
		});
		// A server that hangs up while something is on its way to it resets the connection.
		socket.on('error', () => socket.destroy());
		socket.once('end', () => socket.destroy());
		socket.once('close', () => this.onClose(server.died));
	}

	get stderr() {
		return this.server.stderr;
	}

	/** How the server takes a payload. */
	judge(payload) {
		if (typeof payload !== 'string' && !isUtf8(payload)) return [{kind: 'malformed'}];
		return [judge(String(payload))];
	}

	pack({payload, binary = typeof payload !== 'string'}, random) {
		const bytes = Buffer.from(payload);
		const opcode = binary ? BINARY : TEXT;
		if (!random.chance(0.08)) return frame(bytes, {opcode, mask: maskOf(random)});
		const pieces = [];
		const step = Math.max(1 + random.int(random.pick([3, 20, 100_000])), Math.ceil(bytes.length / MAX_FRAGMENTS));
		for (let start = 0; start === 0 || start < bytes.length; start += step) {
			const final = start + step >= bytes.length;
			const mask = maskOf(random);
			pieces.push(
				frame(bytes.subarray(start, start + step), {final, opcode: start === 0 ? opcode : CONTINUATION, mask}),
			);
			if (random.chance(0.1)) pieces.push(frame(random.bytes(random.int(126)), {opcode: random.pick([PING, PONG])}));
		}
		return Buffer.concat(pieces);
	}

	unfinished(random) {
		const whole = frame(Buffer.from('{"id":1,"method":"environment/status"}'), {});
		return random.chance(0.5)
			? whole.subarray(0, 1 + random.int(whole.length - 1))
			: frame(whole, {final: false, opcode: TEXT});
	}

	write(bytes) {
		this.#socket.write(bytes);
	}

	pause() {
		this.#socket.pause();
	}

	resume() {
		this.#socket.resume();
	}

	halfClose() {
		this.#socket.end();
	}

	close() {
		this.#socket.write(frame(Buffer.from([0x03, 0xe8]), {opcode: CLOSE}));
	}

	destroy() {
		this.#socket.destroy();
	}

	#read(data) {
		let bytes = this.#pending.length > 0 ? Buffer.concat([this.#pending, data]) : data;
		for (let head = frameHead(bytes); head && head.end <= bytes.length; head = frameHead(bytes)) {
			this.#take(bytes[0], bytes.subarray(head.start, head.end));
			bytes = bytes.subarray(head.end);
		}
		this.#pending = bytes;
	}

	#take(first, payload) {
		const opcode = first & 0x0f;
		if (opcode === PING) this.#socket.write(frame(payload, {opcode: PONG}));
		if (opcode !== TEXT && opcode !== CONTINUATION) return;
		this.#parts.push(payload);
		if (first < 0x80) return;
		const [whole, ...more] = this.#parts;
		this.#parts = [];
		this.onMessage(more.length > 0 ? Buffer.concat([whole, ...more]) : whole);
	}
}
