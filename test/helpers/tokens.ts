import {createHash, createHmac} from 'node:crypto';
import {writeFileSync} from 'node:fs';
import {connect} from 'node:net';
import {join} from 'node:path';
import {onTestFinished} from 'vitest';
import {Authenticator, type AuthSource} from '../../src/server/auth/authenticator.js';
import type {Grant} from '../../src/server/auth/grant.js';
import type {ServerOptions} from '../../src/server/options.js';
import type {ExecServer} from '../../src/server/server.js';
import {type ListenOptions, listen} from '../../src/transports/node/listener.js';
import {scratchDirectory} from './scratch.js';
import {clientTransport, connected, execServer} from './serving.js';
import {TestClient} from './test-client.js';

export const UPGRADE = {
	Connection: 'Upgrade',
	Upgrade: 'websocket',
	'Sec-WebSocket-Version': '13',
	'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==',
};

export function sha256(text: string): string {
	return createHash('sha256').update(text).digest('hex');
}

/** A file of a test; gone with it. */
export function fileWith(content: string, name = 'secret'): string {
	const path = join(scratchDirectory(), name);
	writeFileSync(path, content);
	return path;
}

const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** A JWT as an issuer would make it, whatever is wrong with it. */
export function jwt(secret: string, claims: unknown, header: Record<string, unknown> = {alg: 'HS256', typ: 'JWT'}) {
	const text = `${encoded(header)}.${encoded(claims)}`;
	const hash = {HS384: 'sha384', HS512: 'sha512'}[String(header['alg'])] ?? 'sha256';
	const signature = header['alg'] === 'none' ? '' : createHmac(hash, secret).update(text).digest('base64url');
	return `${text}.${signature}`;
}

export const nowSeconds = (): number => Math.floor(Date.now() / 1000);

export interface Guarded {
	readonly server: ExecServer;
	readonly url: string;
	readonly authenticator: Authenticator;
}

/** A whole server that lets only holders of tokens in. */
export async function guarded(
	source: AuthSource,
	options: Partial<ListenOptions<Grant>> & {readonly serverOptions?: ServerOptions} = {},
): Promise<Guarded> {
	const {serverOptions, ...listenOptions} = options;
	const server = execServer(serverOptions);
	const authenticator = new Authenticator(source);
	const listener = await listen<Grant>({
		host: '127.0.0.1',
		port: 0,
		authorize: ({authorization}) => authenticator.authenticate(authorization),
		hasRoom: grant => server.hasRoom(grant),
		accept: (transport, grant) => server.accept(transport, grant),
		pages: {
			'/healthz': () => ({type: 'application/json', body: JSON.stringify(server.health())}),
			'/metrics': () => ({type: 'text/plain', body: server.metrics()}),
		},
		...listenOptions,
	});
	onTestFinished(() => listener.close());
	return {server, authenticator, url: listener.url};
}

/** A client that has shown its token and finished the handshake. */
export async function clientWith(url: string, token: string, resumeSessionId?: string): Promise<TestClient> {
	const socket = await connected(url, {headers: {authorization: `Bearer ${token}`}});
	return new TestClient(clientTransport(socket)).initialize(resumeSessionId);
}

/** Everything the server answers to a request as written, until it hangs up. */
export async function rawAnswer(url: string, line: string, headers: Record<string, string> = {}): Promise<string> {
	const {hostname, port} = new URL(url);
	const socket = connect({host: hostname, port: Number(port)});
	onTestFinished(() => void socket.destroy());
	const lines = Object.entries({Host: hostname, ...headers}).map(([name, value]) => `${name}: ${value}\r\n`);
	socket.write(`${line} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1');
	let text = '';
	for await (const data of socket) text += String(data);
	return text;
}

/** The status and the body. */
export async function request(
	url: string,
	line: string,
	headers: Record<string, string> = {},
): Promise<readonly [number, string]> {
	const text = await rawAnswer(url, line, {Connection: 'close', ...headers});
	const [head = '', body = ''] = text.split('\r\n\r\n');
	return [Number(/^HTTP\/1\.1 (\d+) \S/.exec(head)?.[1]), body];
}

/** An upgrade that is refused: the status and the text. */
export function upgrade(url: string, authorization?: string): Promise<readonly [number, string]> {
	return request(url, 'GET /', {...UPGRADE, ...(authorization !== undefined && {Authorization: authorization})});
}
