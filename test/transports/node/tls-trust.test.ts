import {once} from 'node:events';
import {writeFileSync} from 'node:fs';
import type {AddressInfo} from 'node:net';
import {join} from 'node:path';
import {createServer} from 'node:tls';
import {describe, expect, onTestFinished, test} from 'vitest';
import {connectWebSocket, UnreachableError} from '../../../src/transports/node/connect-web-socket.js';
import {listen} from '../../../src/transports/node/listener.js';
import {createSelfSigned, inspectIdentity} from '../../../src/transports/node/self-signed-certificate.js';
import {scratchDirectory} from '../../helpers/scratch.js';

const OTHER = `sha256:${'00'.repeat(32)}`;

function fileOf(text: string): string {
	const path = join(scratchDirectory(), 'ca.pem');
	writeFileSync(path, text);
	return path;
}

/** A listener with a certificate of its own; `seen` are the tokens it was sent. */
async function secure(names = ['127.0.0.1'], from = new Date()) {
	const identity = createSelfSigned(names, from);
	const seen: (string | undefined)[] = [];
	const listener = await listen({
		host: '127.0.0.1',
		port: 0,
		tls: identity,
		authorize: async ({authorization}) => {
			seen.push(authorization);
			return {kind: 'pass', pass: undefined};
		},
		accept: () => {},
	});
	onTestFinished(() => listener.close());
	return {...identity, ...inspectIdentity(identity)!, url: listener.url, seen};
}

async function refusal(connecting: Promise<unknown>): Promise<UnreachableError> {
	const error = await connecting.then(
		() => undefined,
		(reason: unknown) => reason,
	);
	expect(error).toBeInstanceOf(UnreachableError);
	return error as UnreachableError;
}

test('an authority of a file is trusted, and no other beside it', async () => {
	const {url, cert, seen} = await secure();
	const transport = await connectWebSocket(url, {token: 't', tls: {caFile: fileOf(cert)}});
	transport.destroy();
	expect(seen).toEqual(['Bearer t']);
	const {message} = await refusal(connectWebSocket(url, {tls: {caFile: fileOf(createSelfSigned([]).cert)}}));
	expect(message).toMatch(/self-signed certificate|unable to/);
});

test('the certificate with the fingerprint is accepted whatever its names and dates are', async () => {
	const {url, fingerprint, seen} = await secure(['elsewhere.example'], new Date('2020-01-01'));
	const spelled = `sha256:${fingerprint.slice(7).toUpperCase().match(/../g)!.join(':')}`;
	const transport = await connectWebSocket(url, {token: 't', tls: {fingerprint: spelled}});
	expect(transport.peer).toBe(`websocket ${url}`);
	transport.destroy();
	expect(seen).toEqual(['Bearer t']);
});

test('any other certificate is refused before the token is sent, even one that is trusted otherwise', async () => {
	const {url, fingerprint, cert, seen} = await secure();
	const error = await refusal(
		connectWebSocket(url, {token: 'secret', tls: {fingerprint: OTHER, caFile: fileOf(cert)}}),
	);
	expect(error.message).toBe(
		`failed to connect to exec-server websocket \`${url}\`: its certificate is ${fingerprint}, and the one that is pinned is ${OTHER}`,
	);
	expect(error.hint).toContain('somebody is in between');
	expect(seen).toEqual([]);
});

test('nothing at all is sent inside TLS to a server with another certificate', async () => {
	const identity = createSelfSigned(['127.0.0.1']);
	const received: Buffer[] = [];
	const server = createServer({cert: identity.cert, key: identity.key}, socket => {
		socket.on('error', () => {});
		socket.on('data', (bytes: Buffer) => received.push(bytes));
	});
	server.listen(0, '127.0.0.1');
	onTestFinished(() => void server.close());
	await once(server, 'listening');
	const left = once(server, 'connection').then(async ([socket]) => once(socket as NodeJS.EventEmitter, 'close'));
	const url = `wss://127.0.0.1:${(server.address() as AddressInfo).port}`;
	for (const tls of [{fingerprint: OTHER}, {caFile: fileOf(createSelfSigned([]).cert)}, {}]) {
		await refusal(connectWebSocket(url, {token: 'secret', tls}));
	}
	await left;
	expect(Buffer.concat(received).toString()).toBe('');
});

describe('an error says what would help', () => {
	test('if nobody vouches for the certificate', async () => {
		const {hint} = await refusal(connectWebSocket((await secure()).url));
		expect(hint).toContain('--ca-file FILE');
		expect(hint).toContain('--tls-fingerprint sha256:HEX');
		expect(hint).toContain('ca_file in environments.toml');
	});

	test('if it is out of date', async () => {
		const {url, cert} = await secure(['127.0.0.1'], new Date('2020-01-01'));
		const {message, hint} = await refusal(connectWebSocket(url, {tls: {ca: cert}}));
		expect(message).toContain('certificate has expired');
		expect(hint).toMatch(/^Renew the certificate/);
	});

	test('if it is for another name', async () => {
		const {url, cert} = await secure(['elsewhere.example']);
		const {message, hint} = await refusal(connectWebSocket(url, {tls: {ca: cert}}));
		expect(message).toContain('does not match');
		expect(hint).toContain('Call the server by a name that is in its certificate');
	});

	test('if there is no TLS at all', async () => {
		const listener = await listen({host: '127.0.0.1', port: 0, accept: () => {}});
		onTestFinished(() => listener.close());
		const {hint} = await refusal(connectWebSocket(listener.url.replace('ws:', 'wss:')));
		expect(hint).toContain('try ws://');
	});
});

test.each([
	[{fingerprint: 'sha256:12'}, 'wss', '`sha256:12` is no fingerprint'],
	[{fingerprint: OTHER}, 'ws', 'go with wss:// only'],
	[{caFile: '/x'}, 'ws', 'go with wss:// only'],
	[{caFile: '/no/such'}, 'wss', 'cannot read the authorities to trust: ENOENT'],
	[{caFile: '/dev/null'}, 'wss', 'holds no certificate in PEM'],
	[{caFile: '/x', ca: 'y'}, 'wss', 'exclude each other'],
])('%j with %s:// is refused', async (tls, scheme, message) => {
	await expect(connectWebSocket(`${scheme}://127.0.0.1:1`, {tls})).rejects.toThrow(message);
});

test('connecting to a pinned server is bounded in time, and given up when asked', async () => {
	const {createServer: createSilent} = await import('node:net');
	const silent = createSilent(() => {}).listen(0, '127.0.0.1');
	onTestFinished(() => void silent.close());
	await once(silent, 'listening');
	const url = `wss://127.0.0.1:${(silent.address() as AddressInfo).port}`;
	const tls = {fingerprint: OTHER};
	await expect(connectWebSocket(url, {tls, timeoutMs: 20})).rejects.toThrow('timed out connecting');
	const controller = new AbortController();
	const connecting = connectWebSocket(url, {tls, signal: controller.signal});
	controller.abort(new Error('enough'));
	await expect(connecting).rejects.toThrow('enough');
});
