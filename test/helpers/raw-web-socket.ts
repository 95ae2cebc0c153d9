import {connect, type Socket} from 'node:net';
import {onTestFinished} from 'vitest';

export interface RawFrame {
	readonly final: boolean;
	readonly opcode: number;
	readonly payload: Buffer;
}

/** A hand-written WebSocket client that sees and sends single frames. Frames are masked with zeros. */
export class RawWebSocket {
	readonly socket: Socket;
	readonly frames: RawFrame[] = [];
	ended = false;
	#parts: Buffer[] = [];
	#length = 0;
	#watchers = new Set<() => void>();

	private constructor(socket: Socket) {
		this.socket = socket;
	}

	static async connect(url: string): Promise<RawWebSocket> {
		const {hostname, port} = new URL(url);
		const socket = connect({host: hostname, port: Number(port), allowHalfOpen: true});
		onTestFinished(() => void socket.destroy());
		const raw = new RawWebSocket(socket);
		const upgraded = new Promise<void>((resolve, reject) => {
			let head = '';
			const read = (data: Buffer): void => {
				head += data.toString('latin1');
				const end = head.indexOf('\r\n\r\n');
				if (end < 0) return;
				socket.off('data', read);
				socket.on('data', (bytes: Buffer) => raw.#read(bytes));
				const rest = Buffer.from(head.slice(end + 4), 'latin1');
				if (head.startsWith('HTTP/1.1 101 ')) resolve();
				else reject(new Error(head));
				if (rest.length > 0) raw.#read(rest);
			};
			socket.on('data', read);
			socket.on('error', reject);
		});
		socket.once('close', () => raw.#end());
		socket.once('end', () => raw.#end());
		socket.write(
			`GET / HTTP/1.1\r\nHost: ${hostname}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
				'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
		);
		await upgraded;
		return raw;
	}

	/** Several frames in one write, so that they reach the server together. */
	send(...frames: Buffer[]): void {
		this.socket.write(Buffer.concat(frames));
	}

	async untilFrames(count: number): Promise<RawFrame[]> {
		await this.#until(() => this.frames.length >= count || this.ended);
		return this.frames;
	}

	untilEnded(): Promise<void> {
		return this.#until(() => this.ended);
	}

	#until(probe: () => boolean): Promise<void> {
		return new Promise(resolve => {
			const check = (): void => {
				if (!probe()) return;
				this.#watchers.delete(check);
				resolve();
			};
			this.#watchers.add(check);
			check();
		});
	}

	#read(bytes: Buffer): void {
		this.#parts.push(bytes);
		this.#length += bytes.length;
		for (let size = this.#frameSize(); size > 0 && size <= this.#length; size = this.#frameSize()) this.#take(size);
		this.#wake();
	}

	/** Bytes of the frame that comes next, header included; 0 while that is not known. */
	#frameSize(): number {
		const head = this.#peek(10);
		if (head.length < 2) return 0;
		const short = head[1]! & 0x7f;
		if (short < 126) return 2 + short;
		if (short === 126) return head.length < 4 ? 0 : 4 + head.readUInt16BE(2);
		return head.length < 10 ? 0 : 10 + Number(head.readBigUInt64BE(2));
	}

	#peek(count: number): Buffer {
		if (this.#parts[0] !== undefined && this.#parts[0].length >= count) return this.#parts[0].subarray(0, count);
		return Buffer.concat(this.#parts).subarray(0, count);
	}

	#take(size: number): void {
		const all = Buffer.concat(this.#parts, this.#length);
		const frame = all.subarray(0, size);
		this.#parts = size < all.length ? [all.subarray(size)] : [];
		this.#length = all.length - size;
		const headSize = {126: 4, 127: 10}[frame[1]! & 0x7f] ?? 2;
		this.frames.push({final: frame[0]! >= 0x80, opcode: frame[0]! & 0x0f, payload: frame.subarray(headSize)});
	}

	#end(): void {
		this.ended = true;
		this.#wake();
	}

	#wake(): void {
		for (const check of this.#watchers) check();
	}
}

export const TEXT = 1;
export const CONTINUATION = 0;

/** A frame as a client sends it. */
export function clientFrame(payload: Buffer | string, {final = true, opcode = TEXT} = {}): Buffer {
	const bytes = Buffer.from(payload);
	const first = (final ? 0x80 : 0) | opcode;
	const mask = Buffer.alloc(4);
	if (bytes.length < 126) return Buffer.concat([Buffer.from([first, 0x80 | bytes.length]), mask, bytes]);
	const length = Buffer.alloc(8);
	length.writeBigUInt64BE(BigInt(bytes.length));
	return Buffer.concat([Buffer.from([first, 0x80 | 127]), length, mask, bytes]);
}
