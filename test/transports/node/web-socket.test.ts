import {createRequire} from 'node:module';
import {Socket} from 'node:net';
import * as fc from 'fast-check';
import {afterEach, expect, test, vi} from 'vitest';
import {JsonParts} from '../../../src/protocol/wire/encode.js';
import {PING_INTERVAL_MS} from '../../../src/transports/node/peer-times.js';
import {RawPeer} from '../../helpers/raw-peer.js';
import {CONTINUATION, clientFrame, RawWebSocket} from '../../helpers/raw-web-socket.js';
import {connected, listening, underlyingSocket} from '../../helpers/serving.js';
import {waitTicks} from '../../helpers/ticks.js';

/** A listener, and the server's end of every connection it got. */
async function accepting(): Promise<{url: string; nextEnd: () => Promise<RawPeer>}> {
	const ends: RawPeer[] = [];
	let arrived: (() => void) | undefined;
	const url = await listening(transport => {
		ends.push(new RawPeer(transport));
		arrived?.();
	});
	const nextEnd = async (): Promise<RawPeer> => {
		if (ends.length === 0) await new Promise<void>(resolve => (arrived = resolve));
		return ends.shift()!;
	};
	return {url, nextEnd};
}

async function linked() {
	const {url, nextEnd} = await accepting();
	const [socket, end] = await Promise.all([connected(url), nextEnd()]);
	return {socket, end, url};
}

test('text and binary messages come in as text, and the peer is named by its address', async () => {
	const {socket, end} = await linked();
	socket.send('text €');
	socket.send(Buffer.from('binary €'));
	socket.send('');
	expect([await end.nextText(), await end.nextText(), await end.nextText()]).toEqual(['text €', 'binary €', '']);
	const {localAddress, localPort} = underlyingSocket(socket);
	expect([end.transport.kind, end.transport.peer]).toEqual(['websocket', `websocket ${localAddress}:${localPort}`]);
});

test('everything goes out as text, in order, whatever its size and form', async () => {
	const {url, nextEnd} = await accepting();
	const piece = fc.oneof(
		fc.record({text: fc.string({unit: 'binary'}), size: fc.constant(0)}),
		fc.record({text: fc.constant(''), size: fc.constantFrom(0, 80, 100, 30_000, 49_140, 49_152, 70_000, 200_000)}),
	);
	const raw = await RawWebSocket.connect(url);
	const end = await nextEnd();
	let seen = 0;
	await fc.assert(
		fc.asyncProperty(fc.array(fc.tuple(piece, fc.boolean()), {maxLength: 10}), async messages => {
			const expected = messages.map(([{text, size}, whole], index) => {
				const bytes = Buffer.alloc(size, index);
				const frame = new JsonParts([text, bytes]);
				end.transport.send(whole ? frame.toString() : frame);
				const sent = frame.toString();
				// The bytes were only borrowed.
				bytes.fill(0xee);
				return sent;
			});
			const frames = (await raw.untilFrames(seen + expected.length)).slice(seen);
			seen += expected.length;
			expect(frames.map(({final, opcode, payload}) => [final, opcode, payload.toString()])).toEqual(
				expected.map(text => [true, 1, text]),
			);
		}),
		{numRuns: 25},
	);
});

test('messages around the sizes at which a header grows arrive whole, each and in order', async () => {
	const {socket, end} = await linked();
	const sizes = [0, 1, 125, 126, 127, 65_535, 65_536, 65_537];
	const lengths: number[] = [];
	const all = new Promise<void>((resolve, reject) => {
		socket.on('message', data => {
			lengths.push((data as Buffer).length);
			if (lengths.length === sizes.length) resolve();
		});
		socket.once('close', () => reject(new Error('closed')));
	});
	for (const size of sizes) end.transport.send('x'.repeat(size));
	await all;
	expect(lengths).toEqual(sizes);
});

test('fragments of a message are put together, also with a ping between them', async () => {
	const {url, nextEnd} = await accepting();
	const raw = await RawWebSocket.connect(url);
	const end = await nextEnd();
	const bytes = Buffer.from('"one € two"');
	raw.send(
		clientFrame(bytes.subarray(0, 6), {final: false}),
		clientFrame('', {opcode: 9}),
		clientFrame(bytes.subarray(6, 7), {final: false, opcode: CONTINUATION}),
		clientFrame(bytes.subarray(7), {opcode: CONTINUATION}),
	);
	expect(await end.nextText()).toBe('"one € two"');
	expect((await raw.untilFrames(1))[0]).toMatchObject({opcode: 10});
});

test('invalid UTF-8 in a binary message is reported and the connection goes on', async () => {
	const {socket, end} = await linked();
	socket.send(Buffer.from([0x22, 0xc3, 0x28, 0x22]));
	socket.send('next');
	expect(await end.nextText()).toBe('next');
	expect(end.unreadable).toEqual(['invalid UTF-8']);
});

test('invalid UTF-8 in a text message ends the connection, as the protocol below demands', async () => {
	const {url, nextEnd} = await accepting();
	const raw = await RawWebSocket.connect(url);
	const end = await nextEnd();
	raw.send(clientFrame(Buffer.from([0xff, 0xfe])));
	expect((await end.untilClosed()).error?.message).toMatch(/UTF-8/);
});

test('a peer that breaks the framing is let go at once, also if it never hangs up itself', async () => {
	const {url, nextEnd} = await accepting();
	const raw = await RawWebSocket.connect(url);
	const end = await nextEnd();
	raw.send(clientFrame('x', {opcode: 3}));
	expect((await end.untilClosed()).error).toBeInstanceOf(Error);
	expect(raw.socket.writable).toBe(true);
});

test('the backlog shows what a peer leaves unread, and draining is reported once it reads', async () => {
	const {socket, end} = await linked();
	underlyingSocket(socket).pause();
	const message = 'x'.repeat(1_000_000);
	for (let count = 0; count < 24; count++) end.transport.send(message);
	await waitTicks(50);
	expect([end.transport.backlog > 1_000_000, end.drains]).toEqual([true, 0]);
	let received = 0;
	socket.on('message', () => received++);
	underlyingSocket(socket).resume();
	await end.until(() => end.drains > 0, 'draining');
	expect(end.transport.backlog).toBe(0);
	end.transport.close();
	await new Promise(resolve => socket.once('close', resolve));
	expect(received).toBe(24);
});

test('a paused transport takes no messages until it is resumed', async () => {
	const {socket, end} = await linked();
	end.transport.pause();
	socket.send('waiting');
	await new Promise<void>(resolve => underlyingSocket(socket).write('', () => resolve()));
	await waitTicks(50);
	expect(end.texts).toEqual([]);
	end.transport.resume();
	expect(await end.nextText()).toBe('waiting');
});

test('a transport that is paused over unread messages notices that its peer is gone', async () => {
	const {socket, end} = await linked();
	underlyingSocket(socket).pause();
	for (let count = 0; count < 24; count++) end.transport.send('x'.repeat(1_000_000));
	end.transport.pause();
	socket.send('unread');
	await waitTicks();
	socket.terminate();
	await end.untilClosed();
	expect(end.texts).toEqual([]);
});

test('closing sends what was accepted, then ends', async () => {
	const {socket, end} = await linked();
	const received: string[] = [];
	socket.on('message', data => received.push((data as Buffer).toString()));
	end.transport.send('last words');
	end.transport.close();
	end.transport.send('too late');
	await new Promise(resolve => socket.once('close', resolve));
	expect(received).toEqual(['last words']);
	expect(await end.untilClosed()).toEqual({error: undefined});
});

test('destroying ends at once, without a closing handshake', async () => {
	const {socket, end} = await linked();
	const code = new Promise(resolve => socket.once('close', resolve));
	end.transport.destroy();
	expect(await code).toBe(1006);
	expect(await end.untilClosed()).toEqual({error: undefined});
});

test.each(['close', 'destroy'] as const)(
	'after %s nothing more is delivered, not even from the same packet',
	async how => {
		const seen: string[] = [];
		let ended!: () => void;
		const over = new Promise<void>(resolve => (ended = resolve));
		const url = await listening(transport => {
			transport.open({
				message: text => {
					seen.push(text);
					transport[how]();
				},
				unreadable: reason => seen.push(reason),
				drained: () => {},
				closed: ended,
			});
		});
		const raw = await RawWebSocket.connect(url);
		raw.send(clientFrame('first'), clientFrame('second'), clientFrame(Buffer.from([0xff]), {opcode: 2}));
		await raw.untilFrames(1);
		raw.socket.end();
		await over;
		expect(seen).toEqual(['first']);
	},
);

test('a close frame of the peer ends the connection cleanly', async () => {
	const {socket, end} = await linked();
	socket.close(1000);
	expect(await end.untilClosed()).toEqual({error: undefined});
});

afterEach(() => {
	vi.useRealTimers();
});

test('a peer is pinged when it has been silent for 10 seconds, and the ping stands between the messages', async () => {
	vi.useFakeTimers({toFake: ['setInterval', 'clearInterval', 'performance']});
	const {url, nextEnd} = await accepting();
	const raw = await RawWebSocket.connect(url);
	const end = await nextEnd();
	vi.advanceTimersByTime(PING_INTERVAL_MS - 1);
	end.transport.send('before');
	vi.advanceTimersByTime(1);
	end.transport.send('after');
	const frames = await raw.untilFrames(3);
	expect(PING_INTERVAL_MS).toBe(10_000);
	expect(frames.map(({opcode, payload}) => [opcode, payload.toString()])).toEqual([
		[1, 'before'],
		[9, ''],
		[1, 'after'],
	]);
});

test('small messages are not held back by the kernel (TCP_NODELAY)', async () => {
	const {socket} = await linked();
	const {localPort} = underlyingSocket(socket);
	const handles = (process as unknown as {_getActiveHandles(): unknown[]})._getActiveHandles();
	const accepted = handles.find(
		(handle): handle is Socket => handle instanceof Socket && handle.remotePort === localPort,
	);
	const {fd} = (accepted as unknown as {_handle: {fd: number}})._handle;
	expect(getsockopt(fd, 6, 1)).toBe(1);
});

function getsockopt(fd: number, level: number, name: number): number {
	const koffi = createRequire(import.meta.url)('koffi') as {
		load(path: null): {func(signature: string): (...parameters: unknown[]) => number};
	};
	const call = koffi
		.load(null)
		.func('int getsockopt(int fd, int level, int name, _Out_ int *value, _Inout_ unsigned int *length)');
	const value = [0];
	if (call(fd, level, name, value, [4]) !== 0) throw new Error('getsockopt failed');
	return value[0]!;
}

test('an answer goes out before the goodbye that was read in the same turn is answered', async () => {
	const url = await listening(transport => {
		transport.open({
			message: () => transport.send('"answer"'),
			unreadable: () => {},
			drained: () => {},
			closed: () => {},
		});
	});
	const raw = await RawWebSocket.connect(url);
	raw.send(clientFrame('"question"'), clientFrame(Buffer.from([0x03, 0xe8]), {opcode: 8}));
	const frames = await raw.untilFrames(2);
	expect(frames.map(({opcode}) => opcode)).toEqual([1, 8]);
});

test('the first replies to messages that came together leave while the others are made, and all are in order', async () => {
	const waiting: number[] = [];
	const url = await listening(transport => {
		transport.open({
			message: text => {
				// Work that takes a while.
				for (const until = performance.now() + 1; performance.now() < until; );
				transport.send(text);
				waiting.push(transport.backlog);
			},
			unreadable: () => {},
			drained: () => {},
			closed: () => {},
		});
	});
	const socket = await connected(url);
	const sent = ['1', '2', '3', '4', '5'];
	const received: string[] = [];
	const over = new Promise<void>(resolve => {
		socket.on('message', data => {
			if (received.push((data as Buffer).toString()) === sent.length) resolve();
		});
	});
	underlyingSocket(socket).cork();
	for (const text of sent) socket.send(text);
	underlyingSocket(socket).uncork();
	await over;
	expect(received).toEqual(sent);
	expect(waiting[0]).toBeGreaterThan(0);
	expect(waiting).toContain(0);
});
