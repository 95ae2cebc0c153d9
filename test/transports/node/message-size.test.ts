import {expect, test} from 'vitest';
import {JsonParts} from '../../../src/protocol/wire/encode.js';
import {FRAGMENT_BYTES, MAX_FRAME_BYTES, MAX_MESSAGE_BYTES} from '../../../src/protocol/wire/message-limits.js';
import {RawPeer} from '../../helpers/raw-peer.js';
import {CONTINUATION, clientFrame, RawWebSocket} from '../../helpers/raw-web-socket.js';
import {connected, listening} from '../../helpers/serving.js';

const MiB = 1024 * 1024;

async function linked(): Promise<{raw: RawWebSocket; end: RawPeer}> {
	let arrived!: (end: RawPeer) => void;
	const end = new Promise<RawPeer>(resolve => (arrived = resolve));
	const url = await listening(transport => arrived(new RawPeer(transport)));
	return {raw: await RawWebSocket.connect(url), end: await end};
}

function sendInFragments(raw: RawWebSocket, size: number): void {
	const fragment = Buffer.alloc(8 * MiB, 'x');
	for (let offset = 0; offset < size; offset += fragment.length) {
		const final = offset + fragment.length >= size;
		const payload = fragment.subarray(0, Math.min(fragment.length, size - offset));
		raw.send(clientFrame(payload, {final, opcode: offset === 0 ? 1 : CONTINUATION}));
	}
}

test('the limits are those of the other implementation', () => {
	expect([FRAGMENT_BYTES, MAX_FRAME_BYTES, MAX_MESSAGE_BYTES]).toEqual([8 * MiB, 16 * MiB, 64 * MiB]);
});

test('a frame of 16 MiB is taken, one byte more ends the connection', async () => {
	const {raw, end} = await linked();
	raw.send(clientFrame(Buffer.alloc(16 * MiB, 'x')));
	expect((await end.nextText()).length).toBe(16 * MiB);
	raw.send(clientFrame(Buffer.alloc(16 * MiB + 1, 'x')));
	expect((await end.untilClosed()).error?.message).toMatch(/size/i);
	expect(end.texts).toHaveLength(1);
});

test('a frame that is too long is refused as soon as its header is there', async () => {
	const {raw, end} = await linked();
	raw.send(clientFrame(Buffer.alloc(16 * MiB + 1)).subarray(0, 20));
	expect((await end.untilClosed()).error?.message).toMatch(/size/i);
});

test('fragments are held against the limit one by one', async () => {
	const {raw, end} = await linked();
	raw.send(
		clientFrame('x', {final: false}),
		clientFrame(Buffer.alloc(16 * MiB + 1), {opcode: CONTINUATION}).subarray(0, 20),
	);
	expect((await end.untilClosed()).error?.message).toMatch(/size/i);
});

test('a message of 64 MiB in fragments is taken, one byte more ends the connection', async () => {
	const {raw, end} = await linked();
	sendInFragments(raw, 64 * MiB);
	expect((await end.nextText()).length).toBe(64 * MiB);
	end.texts.length = 0;
	sendInFragments(raw, 64 * MiB + 1);
	expect((await end.untilClosed()).error?.message).toMatch(/size/i);
	expect(end.texts).toEqual([]);
});

test('a frame of 16 MiB is still taken after a longer message in fragments', async () => {
	const {raw, end} = await linked();
	sendInFragments(raw, 17 * MiB);
	raw.send(clientFrame(Buffer.alloc(16 * MiB, 'x')));
	expect([(await end.nextText()).length, (await end.nextText()).length]).toEqual([17 * MiB, 16 * MiB]);
});

test.each([
	['text', 8 * MiB, (size: number) => 'x'.repeat(size), [8]],
	['text', 8 * MiB + 1, (size: number) => 'x'.repeat(size), [8, 0]],
	['text', 20 * MiB, (size: number) => 'x'.repeat(size), [8, 8, 4]],
	['text of three bytes a character', 9 * MiB, (size: number) => '€'.repeat(size / 3), [8, 1]],
	['pieces', 8 * MiB, (size: number) => new JsonParts([Buffer.alloc((size / 4) * 3)]), [8]],
	['pieces', 20 * MiB, (size: number) => new JsonParts([Buffer.alloc((size / 4) * 3)]), [8, 8, 4]],
])('%s of %i bytes goes out in frames of at most 8 MiB', async (_, size, frame, wholeMiB) => {
	const {raw, end} = await linked();
	const message = frame(size);
	end.transport.send(message);
	end.transport.send('next');
	const frames = await raw.untilFrames(wholeMiB.length + 1);
	expect(frames.map(({payload}) => Math.floor(payload.length / MiB))).toEqual([...wholeMiB, 0]);
	expect(frames.map(({final, opcode}) => [final, opcode])).toEqual([
		...wholeMiB.map((__, index) => [index === wholeMiB.length - 1, index === 0 ? 1 : CONTINUATION]),
		[true, 1],
	]);
	const whole = Buffer.concat(frames.slice(0, -1).map(({payload}) => payload));
	expect(whole.equals(Buffer.from(message.toString()))).toBe(true);
});

test('a client of the same library reads a message in fragments as one', async () => {
	const text = 'x'.repeat(20 * MiB);
	const url = await listening(transport => {
		RawPeer.open(transport);
		transport.send(text);
	});
	const socket = await connected(url);
	const [data, binary] = await new Promise<[Buffer, boolean]>(resolve => {
		socket.once('message', (message, isBinary) => resolve([message as Buffer, isBinary]));
	});
	expect([data.equals(Buffer.from(text)), binary]).toEqual([true, false]);
});
