import {createHash, createHmac} from 'node:crypto';
import {writeFileSync} from 'node:fs';
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

export function sha256(text: string): string {
	return createHash('sha256').update(text).digest('hex');
}

/** Writes a temporary file; removed at the end of the test. */
export function fileWith(content: string, name = 'secret'): string {
	const path = join(scratchDirectory(), name);
	writeFileSync(path, content, {mode: 0o600});
	return path;
}

const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Signs a JWT with any claims and header, valid or not. */
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

/** Starts a server that requires a token. */
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
		mayReadPages: grant => authenticator.mayObserve(grant),
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

/** Connects a client with a token and performs the handshake. */
export async function clientWith(url: string, token: string, resumeSessionId?: string): Promise<TestClient> {
	const socket = await connected(url, {headers: {authorization: `Bearer ${token}`}});
	return new TestClient(clientTransport(socket)).initialize(resumeSessionId);
}
