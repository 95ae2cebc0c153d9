import fs from 'node:fs';
import {join} from 'node:path';
import {pathToFileURL} from 'node:url';
import * as fc from 'fast-check';
import {expect, onTestFinished, test, vi} from 'vitest';
import type {WebSocket} from 'ws';
import {type BinaryPayload, ByteBlocks} from '../../../src/protocol/wire/binary-payload.js';
import {Deferred} from '../../../src/shared/async/deferred.js';
import {payloadBuffers} from '../../../src/shared/node/buffer-pool.js';
import {scratchDirectory} from '../../helpers/scratch.js';
import {connected, listening, serving} from '../../helpers/serving.js';

interface Received {
	readonly text: string;
	readonly payload: BinaryPayload | undefined;
}

/** A connection whose messages arrive one by one. */
async function openConnection(): Promise<{readonly send: (pieces: readonly Buffer[]) => Promise<Received>}> {
	let arrived = new Deferred<Received>();
	const url = await listening(transport => {
		transport.open({
			message: (text, payload) => arrived.resolve({text, payload}),
			unreadable: () => {},
			drained: () => {},
			closed: () => {},
		});
	});
	const socket = await connected(url);
	return {
		send: pieces => {
			arrived = new Deferred();
			sendInPieces(socket, pieces);
			return arrived.promise;
		},
	};
}

function sendInPieces(socket: WebSocket, pieces: readonly Buffer[]): void {
	for (const [index, piece] of pieces.entries()) {
		socket.send(piece, {binary: false, fin: index === pieces.length - 1});
	}
}

function cut(text: string, places: readonly number[]): Buffer[] {
	const bytes = Buffer.from(text);
	const cuts = [0, ...places.map(place => place % (bytes.length + 1)).sort((one, other) => one - other), bytes.length];
	return cuts.slice(1).map((end, index) => bytes.subarray(cuts[index], end));
}

function joinBytes(bytes: BinaryPayload['bytes']): Buffer {
	return Buffer.from(bytes instanceof ByteBlocks ? bytes.join() : bytes);
}

const MIB = 1024 * 1024;

test('a message in fragments means what it means in one piece, wherever it is cut and whatever is wrong with it', async () => {
	const {send} = await openConnection();
	await fc.assert(
		fc.asyncProperty(
			fc.integer({min: 0, max: 4 * MIB}),
			fc.array(fc.nat(6 * MIB), {maxLength: 6}),
			fc.option(fc.tuple(fc.nat(), fc.constantFrom('-', '_', '=', ' ', '*', '"', '\\', 'é')), {nil: undefined}),
			fc.constantFrom('","tail":"é', '","tail":"\\"', '","other":[1,{"chunk":"YQ=="}],"x":"', ''),
			async (length, places, damage, tail) => {
				const content = Buffer.alloc(length, Buffer.from(Array.from({length: 257}, (_, index) => (index * 7) % 256)));
				const value = content.toString('base64');
				const at = damage ? damage[0] % (value.length + 1) : 0;
				const damaged = damage ? value.slice(0, at) + damage[1] + value.slice(at + 1) : value;
				const text = `{"id":1,"method":"é","params":{"chunk":"${damaged}${tail}"}}`;
				const {text: received, payload} = await send(cut(text, places));
				expect((payload ? payload.original() : received) === text).toBe(true);
				expect(!payload || damage !== undefined || joinBytes(payload.bytes).equals(content)).toBe(true);
				payload?.release();
			},
		),
		{numRuns: 60},
	);
});

test('a long value in fragments is decoded into pooled blocks, and their memory is used again', async () => {
	const {send} = await openConnection();
	const content = Buffer.from(Array.from({length: 5 * MIB}, (_, index) => (index * 7919) % 251));
	const text = `{"id":1,"method":"fs/writeFile","params":{"dataBase64":"${content.toString('base64')}"}}`;
	const pieces = cut(
		text,
		[1, 2, 3, 4, 5, 6].map(index => index * MIB),
	);
	const taken = vi.spyOn(payloadBuffers, 'take');
	onTestFinished(() => taken.mockRestore());
	const memory = new Set<unknown>();
	for (let round = 0; round < 4; round++) {
		const {payload} = await send(pieces);
		expect(payload!.bytes).toBeInstanceOf(ByteBlocks);
		expect(joinBytes(payload!.bytes).equals(content)).toBe(true);
		for (const {value} of taken.mock.results) memory.add(value);
		payload!.release();
	}
	// Four blocks for the bytes, and one for a fragment.
	expect(memory.size).toBeLessThanOrEqual(5);
});

test('the end of a message may be an empty fragment, and the next message is on its own', async () => {
	const {send} = await openConnection();
	const open = `{"id":1,"params":{"chunk":"${'A'.repeat(100_000)}`;
	expect(await send([Buffer.from(open), Buffer.alloc(0)])).toEqual({text: open, payload: undefined});
	const whole = `${open}"}}`;
	const {payload} = await send([Buffer.from(open), Buffer.from('"}}'), Buffer.alloc(0)]);
	expect(payload!.original()).toBe(whole);
	expect(await send([Buffer.from('{"id":2}')])).toEqual({text: '{"id":2}', payload: undefined});
});

test.each([false, true])('a file that arrives in fragments is written as it was sent, atomic: %s', async atomic => {
	const {url} = await serving();
	const socket = await connected(url);
	const replies: unknown[] = [];
	let arrived = new Deferred();
	socket.on('message', data => {
		replies.push(JSON.parse((data as Buffer).toString()));
		arrived.resolve();
	});
	const call = async (text: string): Promise<unknown> => {
		arrived = new Deferred();
		sendInPieces(socket, cut(text, [MIB, 2 * MIB, 3 * MIB, 4 * MIB, 5 * MIB, 6 * MIB]));
		await arrived.promise;
		return replies.at(-1);
	};
	await call('{"id":1,"method":"initialize","params":{"clientName":"test"}}');
	socket.send('{"method":"initialized"}');
	const path = join(scratchDirectory(), 'file');
	fs.writeFileSync(path, Buffer.alloc(6 * MIB, 'old'));
	const content = Buffer.from(Array.from({length: 5 * MIB + 1}, (_, index) => (index * 7919) % 251));
	const uri = JSON.stringify(pathToFileURL(path).href);
	const reply = await call(
		`{"id":2,"method":"fs/writeFile","params":{"dataBase64":"${content.toString('base64')}","path":${uri},"atomic":${atomic}}}`,
	);
	expect(reply).toEqual({id: 2, result: {}});
	expect(fs.readFileSync(path).equals(content)).toBe(true);
});
