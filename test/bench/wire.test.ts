import {PassThrough} from 'node:stream';
import {expect, test} from 'vitest';

type Piece = (buffer: Buffer, start: number, end: number, isLast: boolean) => void;

interface FrameOptions {
	readonly final?: boolean;
	readonly opcode?: number;
	readonly mask?: number;
	readonly masked?: boolean;
}

interface Frames {
	readonly CONTINUATION: number;
	readonly PING: number;
	readonly frame: (payload: Buffer, options?: FrameOptions) => Buffer;
	readonly FrameReader: new (handlers: {
		piece: Piece;
		control: (opcode: number, payload: Buffer) => void;
	}) => {
		feed(buffer: Buffer, length?: number): void;
	};
}

interface Streams {
	readonly LineReader: new (piece: Piece) => {feed(buffer: Buffer): void};
	readonly gatheredWriter: (stream: PassThrough) => (text: string) => void;
}

interface Content {
	readonly RepeatedContent: new (
		block: Buffer,
		beginning?: Buffer,
	) => {
		slice(offset: number, length: number): Buffer;
		matches(chunk: Buffer, offset: number): boolean;
	};
}

const LIB = new URL('../../bench/lib/', import.meta.url);
const {CONTINUATION, PING, frame, FrameReader} = (await import(new URL('web-socket-frames.mjs', LIB).href)) as Frames;
const {LineReader, gatheredWriter} = (await import(new URL('streams.mjs', LIB).href)) as Streams;
const {RepeatedContent} = (await import(new URL('content.mjs', LIB).href)) as Content;

/** Collects whole messages from pieces. */
function collector(): {messages: string[]; piece: Piece} {
	const messages: string[] = [];
	let text = '';
	return {
		messages,
		piece(buffer, start, end, isLast) {
			text += buffer.toString('latin1', start, end);
			if (!isLast) return;
			messages.push(text);
			text = '';
		},
	};
}

test.each([1, 3, 1000, 1_000_000])('frames are read from pieces of %i bytes', size => {
	const payloads = ['', 'a', 'b'.repeat(126), 'c'.repeat(70_000)];
	const bytes = Buffer.concat([
		...payloads.map(payload => frame(Buffer.from(payload), {masked: false})),
		frame(Buffer.from('first '), {masked: false, final: false}),
		frame(Buffer.from('are you there?'), {masked: false, opcode: PING}),
		frame(Buffer.from('second'), {masked: false, opcode: CONTINUATION}),
	]);
	const {messages, piece} = collector();
	const controls: unknown[] = [];
	const reader = new FrameReader({piece, control: (opcode, payload) => controls.push([opcode, String(payload)])});
	for (let at = 0; at < bytes.length; at += size) reader.feed(bytes.subarray(at, at + size));
	expect(messages).toEqual([...payloads, 'first second']);
	expect(controls).toEqual([[PING, 'are you there?']]);
});

test('a frame with a mask has its payload masked', () => {
	const bytes = frame(Buffer.from('abcde'), {mask: 0x01020304});
	expect(bytes.toString('hex')).toBe('8185010203046060606064');
});

test('lines are read across pieces, without their newlines', () => {
	const {messages, piece} = collector();
	const reader = new LineReader(piece);
	for (const text of ['one\ntw', 'o\n', '\nthree']) reader.feed(Buffer.from(text));
	expect(messages).toEqual(['one', 'two', '']);
});

test('writes of one turn leave together', () => {
	const stream = new PassThrough();
	const write = gatheredWriter(stream);
	write('a');
	write('b');
	expect([stream.writableCorked, stream.writableLength]).toEqual([1, 2]);
});

test('repeated content is known at every offset', () => {
	const content = new RepeatedContent(Buffer.from('abc'), Buffer.from('>'));
	expect([content.slice(0, 5), content.slice(3, 4), content.slice(9, 0)].map(String)).toEqual(['>abca', 'cabc', '']);
	expect(content.matches(Buffer.from('bc'), 2)).toBe(true);
	expect(content.matches(Buffer.from('bc'), 3)).toBe(false);
});
