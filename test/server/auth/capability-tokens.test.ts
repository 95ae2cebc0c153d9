import {randomBytes} from 'node:crypto';
import {writeFileSync} from 'node:fs';
import {inspect} from 'node:util';
import {describe, expect, test} from 'vitest';
import {Authenticator, type AuthSource} from '../../../src/server/auth/authenticator.js';
import {LongarmError} from '../../../src/shared/errors.js';
import {rawRequest, request, requestUpgrade, UPGRADE} from '../../helpers/raw-http.js';
import {clientWith, fileWith, guarded, sha256} from '../../helpers/tokens.js';

const TOKEN = 'a-very-good-token';
/** Above what Node takes as a head, 16 KiB, and below what it reads at once, 64 KiB. */
const OVERSIZED_BYTES = 20_000;
const digest = (token = TOKEN): AuthSource => ({kind: 'token-digest', digest: Buffer.from(sha256(token), 'hex')});

test.each(['Bearer', 'bearer', 'BEARER'])(
	'the right token gets in with the scheme %s, spaces around it or not',
	async scheme => {
		const {url} = await guarded(digest());
		for (const token of [TOKEN, `  ${TOKEN}  `]) {
			expect(await upgradeStatus(url, `${scheme} ${token}`)).toBe(101);
		}
	},
);

/** Of an upgrade that may well succeed. */
async function upgradeStatus(url: string, authorization: string): Promise<number> {
	const response = await fetchUpgrade(url, authorization);
	return Number(/^HTTP\/1\.1 (\d+)/.exec(response)?.[1]);
}

async function fetchUpgrade(url: string, authorization: string): Promise<string> {
	const {connect} = await import('node:net');
	const {hostname, port} = new URL(url);
	const socket = connect({host: hostname, port: Number(port)});
	const lines = Object.entries({Host: hostname, ...UPGRADE, Authorization: authorization});
	socket.write(`GET / HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`);
	const data = await new Promise<Buffer>(resolve => socket.once('data', resolve));
	socket.destroy();
	return data.toString();
}

test.each([
	[undefined, 'missing websocket bearer token'],
	['', 'invalid authorization header'],
	[TOKEN, 'invalid authorization header'],
	['Bearer', 'invalid authorization header'],
	['Bearer ', 'invalid authorization header'],
	[`Basic ${TOKEN}`, 'invalid authorization header'],
	[`Bearer\t${TOKEN}`, 'invalid authorization header'],
	[`Bearer ${TOKEN}\u00e9`, 'invalid authorization header'],
	[`Bearer ${TOKEN} ${TOKEN}`, 'invalid websocket bearer token'],
	[`Bearer x${TOKEN.slice(1)}`, 'invalid websocket bearer token'],
	[`Bearer ${TOKEN.slice(1)}`, 'invalid websocket bearer token'],
	[`Bearer ${TOKEN}x`, 'invalid websocket bearer token'],
	[`Bearer ${TOKEN.toUpperCase()}`, 'invalid websocket bearer token'],
	[`Bearer ${sha256(TOKEN)}`, 'invalid websocket bearer token'],
	[`Bearer ${'x'.repeat(8000)}`, 'invalid websocket bearer token'],
])('the authorization %j is answered with 401 and "%s"', async (authorization, text) => {
	const {url} = await guarded(digest());
	expect(await requestUpgrade(url, authorization)).toEqual([401, text]);
});

test('nothing but the header counts, and there is no challenge', async () => {
	const {url} = await guarded(digest());
	const text = await rawRequest(url, `GET /?token=${TOKEN}&authorization=Bearer%20${TOKEN}`, UPGRADE);
	expect(text).toMatch(/^HTTP\/1\.1 401 Unauthorized\r\n/);
	expect(text.toLowerCase()).not.toContain('www-authenticate');
	expect(text).toMatch(/\r\n\r\nmissing websocket bearer token$/);
});

test('wrong tokens of any length get the same answer, byte for byte', async () => {
	const {url} = await guarded(digest());
	const answers = new Set<string>();
	for (const token of [`b${TOKEN.slice(1)}`, 'x', 'x'.repeat(4000)]) {
		answers.add(await rawRequest(url, 'GET /', {...UPGRADE, Authorization: `Bearer ${token}`}));
	}
	expect(answers.size).toBe(1);
});

test('ten thousand random tokens are all refused with the same words', async () => {
	const authenticator = new Authenticator(digest());
	const verdicts = new Set<string>();
	for (let count = 0; count < 10_000; count++) {
		const token = randomBytes(1 + (count % 64)).toString(count % 2 === 0 ? 'hex' : 'base64url');
		verdicts.add(JSON.stringify(await authenticator.authenticate(`Bearer ${token}`)));
	}
	expect([...verdicts]).toEqual([JSON.stringify({kind: 'refused', text: 'invalid websocket bearer token'})]);
});

test('an oversized header is refused by its size alone and the server goes on', async () => {
	const {url} = await guarded(digest());
	// Read at once: what the server closes unread resets the connection, and may take the answer with it.
	expect((await requestUpgrade(url, `Bearer ${'x'.repeat(OVERSIZED_BYTES)}`))[0]).toBe(431);
	const client = await clientWith(url, TOKEN);
	expect(await client.call('environment/status')).toBeDefined();
});

describe('the order of answers', () => {
	test.each<[string, Record<string, string>, number]>([
		['GET /', {...UPGRADE, Origin: 'https://example.com'}, 403],
		['GET /healthz', {Origin: 'https://example.com'}, 403],
		['GET /readyz', {}, 200],
		['POST /readyz', {}, 405],
		['GET /', {}, 400],
		['GET /', {...UPGRADE, 'Sec-WebSocket-Key': 'short'}, 400],
		['GET /', {...UPGRADE, 'Sec-WebSocket-Version': '7'}, 426],
		['GET /', {...UPGRADE, Upgrade: 'h2c'}, 400],
		['POST /', UPGRADE, 405],
		['POST /', {}, 405],
		['GET /other', UPGRADE, 404],
		['GET /other', {}, 404],
		['POST /healthz', {}, 405],
		['GET /', UPGRADE, 401],
		['GET /healthz', {}, 401],
		['HEAD /metrics', {}, 401],
	])('%s with %j and no token is answered with %i', async (line, headers, status) => {
		const {url} = await guarded(digest());
		expect((await request(url, line, headers))[0]).toBe(status);
	});

	test('pages need a token that may observe', async () => {
		const tokens = [
			['none', '[]'],
			['files', '["files", "http"]'],
			['observe', '["observe"]'],
			['drive', '["drive"]'],
		] as const;
		const entries = tokens.map(
			([name, scopes]) => `[[tokens]]\nname = "${name}"\nsha256 = "${sha256(name)}"\nscopes = ${scopes}\n`,
		);
		const {url} = await guarded({kind: 'tokens-file', path: fileWith(entries.join(''))});
		for (const page of ['/healthz', '/metrics']) {
			const statuses = tokens.map(
				async ([name]) => (await request(url, `GET ${page}`, {Authorization: `Bearer ${name}`}))[0],
			);
			expect(await Promise.all(statuses)).toEqual([403, 403, 200, 200]);
		}
	});

	test('pages that tell about the work need the token, too', async () => {
		const {url} = await guarded(digest());
		for (const page of ['/healthz', '/metrics']) {
			expect(await request(url, `GET ${page}`)).toEqual([401, 'missing websocket bearer token']);
			expect(await request(url, `GET ${page}`, {Authorization: 'Bearer no'})).toEqual([
				401,
				'invalid websocket bearer token',
			]);
			expect((await request(url, `GET ${page}`, {Authorization: `Bearer ${TOKEN}`}))[0]).toBe(200);
		}
	});
});

describe('a token in a file', () => {
	test('is read without the space around it, and again when told so', async () => {
		const path = fileWith(`\n  ${TOKEN}\t\n`);
		const {url, authenticator} = await guarded({kind: 'token-file', path});
		await clientWith(url, TOKEN);
		writeFileSync(path, 'another-token');
		await clientWith(url, TOKEN);
		authenticator.reload();
		expect(await requestUpgrade(url, `Bearer ${TOKEN}`)).toEqual([401, 'invalid websocket bearer token']);
		await clientWith(url, 'another-token');
	});

	test('stays as it was when the new one cannot be used', async () => {
		const path = fileWith(TOKEN);
		const {url, authenticator} = await guarded({kind: 'token-file', path});
		writeFileSync(path, ' \n');
		expect(() => authenticator.reload()).toThrow(`websocket auth secret ${path} must not be empty`);
		await clientWith(url, TOKEN);
	});

	test.each(['', ' \n\t '])('must not be empty: %j', content => {
		const path = fileWith(content);
		expect(() => new Authenticator({kind: 'token-file', path})).toThrow(
			new LongarmError('AUTH_INVALID', {message: `websocket auth secret ${path} must not be empty`}),
		);
	});

	test('is read to its end, or to where nobody would call it a token', () => {
		expect(() => new Authenticator({kind: 'token-file', path: '/dev/zero'})).toThrow(
			'failed to read websocket auth secret /dev/zero: larger than 1048576 bytes',
		);
	});

	test('has to be there', () => {
		expect(() => new Authenticator({kind: 'token-file', path: '/no/such'})).toThrow(
			/^failed to read websocket auth secret \/no\/such: No such file or directory \(os error 2\)$/,
		);
	});
});

test('what knows tokens shows none of them', async () => {
	const path = fileWith(TOKEN);
	const {authenticator} = await guarded({kind: 'token-file', path});
	await authenticator.authenticate(`Bearer ${TOKEN}`);
	const shown = inspect(authenticator, {depth: 10, showHidden: true}) + JSON.stringify(authenticator);
	expect(shown).not.toContain(TOKEN);
	expect(shown).not.toContain(sha256(TOKEN));
});
