import {expect, onTestFinished, test} from 'vitest';
import {LazyClient, type LazyClientOptions} from '../../../src/client/session/lazy-client.js';
import type {Connect} from '../../../src/client/session/session-client.js';
import {memoryTransportPair} from '../../../src/transports/memory.js';
import type {Transport} from '../../../src/transports/transport.js';
import {eventually} from '../../helpers/processes.js';
import {RawPeer} from '../../helpers/raw-peer.js';
import {execServer} from '../../helpers/serving.js';
import {sh} from '../../helpers/start-params.js';

interface Lazy {
	readonly lazy: LazyClient;
	readonly transports: Transport[];
	/** What the next connection does instead. */
	instead: Connect | undefined;
}

function lazily(options: LazyClientOptions = {}): Lazy {
	const server = execServer();
	const transports: Transport[] = [];
	const state: {instead: Connect | undefined} = {instead: undefined};
	const lazy = new LazyClient(async signal => {
		const {instead} = state;
		state.instead = undefined;
		if (instead) return instead(signal);
		const [near, far] = memoryTransportPair();
		server.accept(far);
		transports.push(near);
		return near;
	}, options);
	onTestFinished(() => lazy.close());
	return Object.assign(state, {lazy, transports});
}

test('nothing is connected before somebody asks, and then everybody gets the same', async () => {
	const {lazy, transports} = lazily();
	expect(await lazy.status()).toEqual({kind: 'pending'});
	expect(() => lazy.ready()).toThrow('exec-server environment is not ready');
	const [one, other] = await Promise.all([lazy.client(), lazy.client()]);
	expect([one === other, transports.length, lazy.ready() === one]).toEqual([true, 1, true]);
	expect(await lazy.status()).toEqual({kind: 'ready'});
});

test('a failed attempt is tried again by the next who asks', async () => {
	const place = lazily();
	place.instead = () => Promise.reject(new Error('no route to host'));
	const both = await Promise.allSettled([place.lazy.client(), place.lazy.client()]);
	expect(both.map(({status}) => status)).toEqual(['rejected', 'rejected']);
	expect(await place.lazy.status()).toEqual({kind: 'disconnected', error: 'no route to host'});
	expect((await place.lazy.client()).state).toBe('connected');
});

test('what the server refuses is not tried again', async () => {
	const place = lazily();
	place.instead = async () => {
		const [near, far] = memoryTransportPair();
		const peer = new RawPeer(far);
		void peer.next().then(() => peer.send({id: 1, error: {code: -32600, message: 'go away'}}));
		return near;
	};
	const refused = 'exec-server connection attempt failed: exec-server rejected request (-32600): go away';
	await expect(place.lazy.client()).rejects.toThrow(refused);
	await expect(place.lazy.client()).rejects.toThrow(refused);
	expect(place.transports).toEqual([]);
});

test('a session that is lost for good is replaced by a new one', async () => {
	const place = lazily({recoveryBudgetMs: 1});
	const first = await place.lazy.client();
	const {process} = await first.start(sh('p', 'sleep 1000'));
	place.instead = () => Promise.reject(new Error('gone'));
	place.transports[0]!.destroy();
	await expect(process.closed).rejects.toThrow('failed to resume');
	// It is not even tried when the time is over before.
	place.instead = undefined;
	const second = await place.lazy.client();
	expect([second === first, second.sessionId === first.sessionId]).toEqual([false, false]);
	expect((await second.start(sh('p', 'true'))).process.processId).toBe('p');
});

test('a session that ends with its command stays the one there is, dead as it is', async () => {
	const place = lazily({recovers: false, reconnects: false});
	const client = await place.lazy.client();
	place.transports[0]!.destroy();
	await client.ended;
	expect(await place.lazy.client()).toBe(client);
	await expect(client.start(sh('p', 'true'))).rejects.toThrow('exec-server transport disconnected');
	expect(await place.lazy.status()).toMatchObject({kind: 'disconnected'});
});

test('while a connection is made again those who cannot wait are told so', async () => {
	const place = lazily();
	const client = await place.lazy.client();
	let goOn!: () => void;
	const gate = new Promise<void>(resolve => {
		goOn = resolve;
	});
	place.instead = async () => {
		await gate;
		throw new Error('not yet');
	};
	place.transports[0]!.destroy();
	await eventually(() => client.state === 'recovering');
	expect(() => place.lazy.ready()).toThrow('exec-server environment is recovering');
	expect(await place.lazy.status()).toEqual({kind: 'disconnected', error: 'exec-server environment is recovering'});
	goOn();
	await client.recovered();
	expect(await place.lazy.status()).toEqual({kind: 'ready'});
});

test('closing gives up an attempt that is under way', async () => {
	const place = lazily();
	place.instead = signal =>
		new Promise((_resolve, reject) => {
			signal!.addEventListener('abort', () => reject(signal!.reason as Error));
		});
	const waiting = place.lazy.client();
	place.lazy.close();
	await expect(waiting).rejects.toThrow('the environment is closed');
	await expect(place.lazy.client()).rejects.toThrow('the environment is closed');
});

test('closing gives up a handshake that is never answered, and hangs up', async () => {
	const place = lazily();
	const [near, far] = memoryTransportPair();
	const peer = new RawPeer(far);
	place.instead = async () => near;
	const waiting = place.lazy.client().catch((error: Error) => error.message);
	await peer.next();
	await place.lazy[Symbol.asyncDispose]();
	expect(await waiting).toBe('the environment is closed');
	await peer.untilClosed();
});

test('closing gives up a connection whose maker does not look at the signal, and hangs up when it comes', async () => {
	const place = lazily();
	const [near, far] = memoryTransportPair();
	const peer = new RawPeer(far);
	let arrive!: (transport: Transport) => void;
	place.instead = () =>
		new Promise(resolve => {
			arrive = resolve;
		});
	const waiting = place.lazy.client().catch((error: Error) => error.message);
	await place.lazy[Symbol.asyncDispose]();
	expect(await waiting).toBe('the environment is closed');
	arrive(near);
	await peer.untilClosed();
});

test('closing gives up the handshake of a recovery', async () => {
	const place = lazily();
	await place.lazy.client();
	const [near, far] = memoryTransportPair();
	const peer = new RawPeer(far);
	place.instead = async () => near;
	place.transports[0]!.destroy();
	await peer.next();
	await place.lazy[Symbol.asyncDispose]();
	expect(await peer.untilClosed()).toBeDefined();
});
