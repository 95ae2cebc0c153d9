import {createConnection, type Socket} from 'node:net';
import {type ConnectionOptions, connect as connectTls, type TLSSocket} from 'node:tls';
import {describe, expect, onTestFinished, test, vi} from 'vitest';
import {LongarmError} from '../../../src/shared/errors.js';
import {connectWebSocket} from '../../../src/transports/node/connect-web-socket.js';
import {type Listener, type ListenOptions, listen} from '../../../src/transports/node/listener.js';
import type {Transport} from '../../../src/transports/transport.js';
import {Authority} from '../../helpers/certificates.js';
import {stopClock} from '../../helpers/clock.js';
import {needs} from '../../helpers/needs.js';
import {eventually} from '../../helpers/processes.js';
import {RawPeer} from '../../helpers/raw-peer.js';
import {execServer} from '../../helpers/serving.js';
import {TestClient} from '../../helpers/test-client.js';

async function secure(authority: Authority, options: Partial<ListenOptions> = {}): Promise<Listener> {
	const {cert, key} = authority.issue();
	const listener = await listen({
		host: '127.0.0.1',
		port: 0,
		tls: {cert, key},
		accept: transport => void RawPeer.open(transport),
		...options,
	});
	onTestFinished(() => listener.close());
	return listener;
}

/** A connection below HTTP; rejects when there is none. */
function handshake({url}: Listener, options: ConnectionOptions): Promise<TLSSocket> {
	const {hostname, port} = new URL(url);
	const socket = connectTls({host: hostname, port: Number(port), ...options});
	onTestFinished(() => void socket.destroy());
	return new Promise((resolve, reject) => {
		socket.once('secureConnect', () => resolve(socket));
		socket.once('error', reject);
		socket.once('close', () => reject(new Error('closed')));
	});
}

function plain({url}: Listener): Promise<Socket> {
	const {hostname, port} = new URL(url);
	const socket = createConnection({host: hostname, port: Number(port)});
	onTestFinished(() => void socket.destroy());
	socket.on('error', () => {});
	return new Promise(resolve => socket.once('connect', () => resolve(socket)));
}

const closed = (socket: Socket): Promise<unknown> => new Promise(resolve => socket.once('close', resolve));

describe('over TLS', needs('openssl'), () => {
	test('a client that trusts the authority gets in and the address says wss', async () => {
		const authority = new Authority();
		const server = execServer();
		const {url} = await secure(authority, {accept: transport => server.accept(transport)});
		expect(url).toMatch(/^wss:\/\/127\.0\.0\.1:\d+$/);
		const client = await new TestClient(await connectWebSocket(url, {tls: {ca: authority.ca}})).initialize();
		await client.sh('p', 'head -c 3000000 /dev/zero; echo end');
		expect((await client.done('p')).stdout).toHaveLength(3_000_004);
		client.rpc.close();
		await client.untilClosed();
	});

	test('the token and the peer reach the other side over TLS', async () => {
		const authority = new Authority();
		const accepted: string[] = [];
		const {cert, key} = authority.issue();
		const listener = await listen<string>({
			host: '127.0.0.1',
			port: 0,
			tls: {cert, key},
			authorize: async ({authorization}) =>
				authorization === 'Bearer right' ? {kind: 'pass', pass: 'me'} : {kind: 'refused', text: 'no'},
			accept: (transport, pass) => {
				RawPeer.open(transport);
				accepted.push(`${pass} on ${transport.peer}`);
			},
		});
		onTestFinished(() => listener.close());
		const tls = {ca: authority.ca};
		const transport: Transport = await connectWebSocket(listener.url, {tls, token: 'right'});
		expect(accepted).toEqual([expect.stringMatching(/^me on websocket 127\.0\.0\.1:\d+$/)]);
		transport.destroy();
		await expect(connectWebSocket(listener.url, {tls, token: 'wrong'})).rejects.toThrow('401');
	});

	test('a client that does not know the authority stays out, and so does one that speaks no TLS', async () => {
		const authority = new Authority();
		const {url} = await secure(authority);
		await expect(connectWebSocket(url)).rejects.toThrow(/certificate/);
		await expect(connectWebSocket(url, {tls: {ca: new Authority('other').ca}})).rejects.toThrow(/certificate/);
		await expect(connectWebSocket(url.replace('wss:', 'ws:'))).rejects.toThrow(/failed to connect/);
	});

	test('versions before 1.2 are refused', async () => {
		const authority = new Authority();
		const listener = await secure(authority);
		const old = {ca: authority.ca, minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0'} as const;
		await expect(handshake(listener, old)).rejects.toThrow(/alert|version|closed/);
		for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
			const socket = await handshake(listener, {ca: authority.ca, minVersion: version, maxVersion: version});
			expect(socket.getProtocol()).toBe(version);
		}
	});

	test.each(['ECDHE-ECDSA-AES128-SHA256', 'ECDHE-ECDSA-AES256-SHA', 'ECDHE-ECDSA-AES128-SHA'])(
		'the cipher %s is refused: it encrypts first and authenticates later',
		async ciphers => {
			const authority = new Authority();
			const listener = await secure(authority);
			const options = {ca: authority.ca, maxVersion: 'TLSv1.2', ciphers: `${ciphers}:@SECLEVEL=0`} as const;
			await expect(handshake(listener, options)).rejects.toThrow(/alert|closed/);
			listener.renew(authority.issue());
			await expect(handshake(listener, options)).rejects.toThrow(/alert|closed/);
			const good = await handshake(listener, {...options, ciphers: 'ECDHE-ECDSA-AES128-GCM-SHA256'});
			expect(good.getCipher().name).toBe('ECDHE-ECDSA-AES128-GCM-SHA256');
		},
	);

	test('a new certificate is shown to new connections while old ones go on', async () => {
		const authority = new Authority();
		const listener = await secure(authority);
		const tls = {ca: authority.ca};
		const old = RawPeer.open(await connectWebSocket(listener.url, {tls}));
		const {cert, key} = authority.issue('renewed');
		listener.renew({cert, key});
		const socket = await handshake(listener, tls);
		expect(socket.getPeerCertificate().subject.CN).toBe('renewed');
		expect(old.ending).toBeUndefined();
		const broken = [
			{cert: 'nonsense', key},
			{cert, key: authority.issue().key},
			{cert: '', key: ''},
		];
		for (const identity of broken) {
			expect(() => listener.renew(identity)).toThrow(LongarmError);
			const again = await handshake(listener, tls);
			expect(again.getPeerCertificate().subject.CN).toBe('renewed');
		}
	});

	test('a listener without TLS has no certificate to replace', async () => {
		const listener = await listen({host: '127.0.0.1', port: 0, accept: () => {}});
		onTestFinished(() => listener.close());
		const {cert, key} = new Authority().issue();
		expect(() => listener.renew({cert, key})).toThrow('the listener has no TLS');
	});

	test('a certificate and a key that do not belong together are refused at the start', async () => {
		const authority = new Authority();
		const tls = {cert: authority.issue().cert, key: authority.issue().key};
		await expect(listen({host: '127.0.0.1', port: 0, tls, accept: () => {}})).rejects.toMatchObject({
			code: 'TLS_INVALID',
			message: expect.stringMatching(/^the certificate and its key cannot be used: /) as string,
		});
	});

	test('a peer that says nothing is hung up on', async () => {
		const listener = await secure(new Authority(), {handshakeMs: 100});
		const socket = await plain(listener);
		await closed(socket);
		expect(socket.destroyed).toBe(true);
	});

	test('a peer that says a byte now and then is hung up on as well', async () => {
		const listener = await secure(new Authority(), {handshakeMs: 200});
		const socket = await plain(listener);
		// The beginning of a handshake message that is never complete.
		const bytes = Buffer.from([0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3, ...Array<number>(400).fill(7)]);
		let sent = 0;
		const drip = setInterval(() => socket.write(bytes.subarray(sent, ++sent)), 20);
		onTestFinished(() => clearInterval(drip));
		await closed(socket);
		expect(sent).toBeLessThan(bytes.length);
	});

	test('a connection whose handshake was in time is not hung up on later', async () => {
		const authority = new Authority();
		const listener = await secure(authority, {handshakeMs: 60_000});
		stopClock();
		const peer = RawPeer.open(await connectWebSocket(listener.url, {tls: {ca: authority.ca}}));
		vi.advanceTimersByTime(60_000);
		// Hung up on, it would be gone before one that comes later and never shakes hands.
		const silent = await plain(listener);
		await eventually(() => {
			vi.advanceTimersByTime(60_000);
			return silent.destroyed;
		});
		expect(peer.ending).toBeUndefined();
	});

	test('closing does not wait for a handshake', async () => {
		const listener = await secure(new Authority());
		const socket = await plain(listener);
		const gone = closed(socket);
		await listener.close();
		await gone;
		expect(socket.destroyed).toBe(true);
	});

	test('nonsense instead of a handshake hurts nobody else', async () => {
		const authority = new Authority();
		const listener = await secure(authority);
		const socket = await plain(listener);
		socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
		await closed(socket);
		expect((await handshake(listener, {ca: authority.ca})).authorized).toBe(true);
	});
});
