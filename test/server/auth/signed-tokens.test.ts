import {createHmac, randomBytes} from 'node:crypto';
import {inspect} from 'node:util';
import {expect, test, vi} from 'vitest';
import {Authenticator, type AuthResult} from '../../../src/server/auth/authenticator.js';
import {MAX_LIFETIME_SECONDS, type SignedTokenRules} from '../../../src/server/auth/signed-tokens.js';
import {requestUpgrade} from '../../helpers/raw-http.js';
import {clientWith, fileWith, guarded, jwt, nowSeconds} from '../../helpers/tokens.js';

const SECRET = 'a secret of at least thirty-two bytes';
const SOON = 600;

function authenticator(rules: Partial<SignedTokenRules> = {}): Authenticator {
	return new Authenticator({kind: 'signed', secretPath: fileWith(`${SECRET}\n`), skewSeconds: 30, ...rules});
}

function judge(token: string, rules?: Partial<SignedTokenRules>): Promise<AuthResult> {
	return authenticator(rules).authenticate(`Bearer ${token}`);
}

const refused = (text: string) => ({kind: 'refused', text});
const good = (claims: Record<string, unknown> = {}) => ({exp: nowSeconds() + SOON, ...claims});

test('a token that is signed and in time gets in, everything allowed', async () => {
	const {url} = await guarded({kind: 'signed', secretPath: fileWith(SECRET), skewSeconds: 30});
	const client = await clientWith(url, jwt(SECRET, good()));
	await client.sh('p', 'echo in');
	expect((await client.done('p')).stdout).toBe('in\n');
	expect(await requestUpgrade(url, `Bearer ${jwt('another secret of thirty-two bytes', good())}`)).toEqual([
		401,
		'invalid websocket jwt',
	]);
	expect(await requestUpgrade(url)).toEqual([401, 'missing websocket bearer token']);
	expect(await requestUpgrade(url, 'Basic x')).toEqual([401, 'invalid authorization header']);
});

test.each<[string, () => string]>([
	['signed with another secret', () => jwt(`${SECRET}x`, good())],
	['unsigned', () => jwt(SECRET, good(), {alg: 'none'})],
	['signed with HS384', () => jwt(SECRET, good(), {alg: 'HS384'})],
	['signed with HS512', () => jwt(SECRET, good(), {alg: 'HS512'})],
	['said to be signed with RS256', () => jwt(SECRET, good(), {alg: 'RS256'})],
	['said to be signed with another spelling', () => jwt(SECRET, good(), {alg: 'hs256'})],
	['signed by nothing named', () => jwt(SECRET, good(), {typ: 'JWT'})],
	['with something critical that nobody knows', () => jwt(SECRET, good(), {alg: 'HS256', crit: ['new'], new: 1})],
	['without its signature', () => jwt(SECRET, good()).replace(/\.[^.]*$/, '.')],
	['of two parts', () => jwt(SECRET, good()).replace(/\.[^.]*$/, '')],
	['of four parts', () => `${jwt(SECRET, good())}.x`],
	['truncated', () => jwt(SECRET, good()).slice(0, -1)],
	['with other claims than were signed', () => tampered()],
	['that never expires', () => jwt(SECRET, {})],
	['whose expiry is null', () => jwt(SECRET, {exp: null})],
	['whose expiry is a text', () => jwt(SECRET, {exp: String(nowSeconds() + SOON)})],
	['whose expiry is between two seconds', () => jwt(SECRET, {exp: nowSeconds() + 0.5})],
	['whose beginning is a text', () => jwt(SECRET, good({nbf: '0'}))],
	['whose issuer is a number', () => jwt(SECRET, good({iss: 1}))],
	['whose audience is a number', () => jwt(SECRET, good({aud: 1}))],
	['whose audiences are numbers', () => jwt(SECRET, good({aud: [1]}))],
	['whose scope is a list', () => jwt(SECRET, good({scope: ['files']}))],
	['that is a list', () => jwt(SECRET, [good()])],
	['that is null', () => jwt(SECRET, null)],
	['that is no token at all', () => 'token'],
	['that is oversized', () => `${jwt(SECRET, good())}${'x'.repeat(8000)}`],
])('a token %s is invalid', async (_what, make) => {
	expect(await judge(make())).toEqual(refused('invalid websocket jwt'));
});

function tampered(): string {
	const [header, , signature] = jwt(SECRET, good()).split('.');
	return `${header}.${Buffer.from(JSON.stringify(good({sub: 'root'}))).toString('base64url')}.${signature}`;
}

test('ten thousand random tokens are all invalid', async () => {
	const subject = authenticator();
	const header = Buffer.from('{"alg":"HS256"}').toString('base64url');
	const verdicts = new Set<string>();
	for (let count = 0; count < 10_000; count++) {
		const part = (): string => randomBytes(1 + (count % 50)).toString('base64url');
		const token = count % 2 === 0 ? `${header}.${part()}.${part()}` : `${part()}.${part()}.${part()}`;
		verdicts.add(JSON.stringify(await subject.authenticate(`Bearer ${token}`)));
	}
	expect([...verdicts]).toEqual([JSON.stringify(refused('invalid websocket jwt'))]);
});

test('the times are compared in whole seconds, and at the bounds a token is good', async () => {
	const NOW = 1_800_000_000;
	vi.useFakeTimers({now: NOW * 1000 + 999, toFake: ['Date']});
	try {
		for (const skewSeconds of [0, 30]) {
			const outcome = async (claims: Record<string, unknown>) => {
				const verdict = await judge(jwt(SECRET, claims), {skewSeconds});
				return verdict.kind === 'pass' ? 'pass' : verdict.text;
			};
			expect(await outcome({exp: NOW - skewSeconds})).toBe('pass');
			expect(await outcome({exp: NOW - skewSeconds - 1})).toBe('expired websocket jwt');
			expect(await outcome({exp: NOW + 9, nbf: NOW + skewSeconds})).toBe('pass');
			expect(await outcome({exp: NOW + 9, nbf: NOW + skewSeconds + 1})).toBe('websocket jwt is not valid yet');
			expect(await outcome({exp: NOW + 9, nbf: null})).toBe('pass');
			expect(await outcome({exp: NOW + 9, iat: NOW + skewSeconds})).toBe('pass');
			expect(await outcome({exp: NOW + 9, iat: NOW + skewSeconds + 1})).toBe('websocket jwt is not valid yet');
			expect(await outcome({exp: NOW + 9, iat: null})).toBe('pass');
			expect(await outcome({exp: NOW + 9, iat: 'now'})).toBe('invalid websocket jwt');
			const tooLong = 'websocket jwt is valid for too long';
			for (const start of [{iat: NOW - 60}, {nbf: NOW - 60}, {iat: NOW - 60, nbf: NOW}, {}]) {
				const since = start.iat ?? start.nbf ?? NOW;
				expect(await outcome({...start, exp: since + MAX_LIFETIME_SECONDS})).toBe('pass');
				expect(await outcome({...start, exp: since + MAX_LIFETIME_SECONDS + 1})).toBe(tooLong);
			}
		}
	} finally {
		vi.useRealTimers();
	}
});

test.each([
	['the scope', (exp: number) => `{"exp":${exp},"scope":"observe","scope":"drive"}`],
	['the expiry', (exp: number) => `{"exp":1,"exp":${exp}}`],
	['an escaped name', (exp: number) => `{"exp":${exp},"sub":"a","s\\u0075b":"b"}`],
	['a name of its own', (exp: number) => `{"exp":${exp},"x":{"y":1,"y":2}}`],
])('a token that says %s twice is refused', async (_what, claims) => {
	const text = [`{"alg":"HS256"}`, claims(nowSeconds() + SOON)]
		.map(each => Buffer.from(each).toString('base64url'))
		.join('.');
	const token = `${text}.${createHmac('sha256', SECRET).update(text).digest('base64url')}`;
	expect(await judge(token)).toEqual(refused('invalid websocket jwt'));
});

test.each<[string, Record<string, unknown>, string | undefined]>([
	['the right issuer and audience', {iss: 'i', aud: 'a'}, undefined],
	['the audience among others', {iss: 'i', aud: ['b', 'a']}, undefined],
	['no issuer', {aud: 'a'}, 'websocket jwt issuer mismatch'],
	['another issuer', {iss: 'j', aud: 'a'}, 'websocket jwt issuer mismatch'],
	['another issuer and audience', {iss: 'j', aud: 'b'}, 'websocket jwt issuer mismatch'],
	['no audience', {iss: 'i'}, 'websocket jwt audience mismatch'],
	['no audience in the list', {iss: 'i', aud: []}, 'websocket jwt audience mismatch'],
	['another audience', {iss: 'i', aud: 'ab'}, 'websocket jwt audience mismatch'],
])('a token with %s is judged by its claims', async (_what, claims, text) => {
	const verdict = await judge(jwt(SECRET, good(claims)), {issuer: 'i', audience: 'a'});
	expect(verdict.kind === 'refused' ? verdict.text : undefined).toBe(text);
});

test('what is wrong is told in a fixed order: signature, end, beginning, issuer, audience', async () => {
	const rules = {issuer: 'i', audience: 'a'};
	const past = nowSeconds() - SOON;
	const future = nowSeconds() + SOON;
	const text = async (claims: Record<string, unknown>, secret = SECRET) => judge(jwt(secret, claims), rules);
	expect(await text({exp: past, nbf: future}, `${SECRET}x`)).toEqual(refused('invalid websocket jwt'));
	expect(await text({exp: past, nbf: future})).toEqual(refused('expired websocket jwt'));
	expect(await text({exp: future, nbf: future})).toEqual(refused('websocket jwt is not valid yet'));
	expect(await text({exp: future})).toEqual(refused('websocket jwt issuer mismatch'));
});

test('without rules about them any issuer and audience will do', async () => {
	expect(await judge(jwt(SECRET, good({iss: 'x', aud: ['y']})))).toMatchObject({kind: 'pass'});
});

test.each<[Record<string, unknown>, unknown]>([
	[{}, {name: ''}],
	[{sub: 'ann'}, {name: 'ann'}],
	[
		{sub: 'ann', scope: 'observe files'},
		{name: 'ann', scopes: ['observe', 'files']},
	],
	[
		{sub: 'ann', scope: 'openid drive  other'},
		{name: 'ann', scopes: ['drive']},
	],
	[
		{sub: 'ann', scope: ''},
		{name: 'ann', scopes: []},
	],
	[{sub: null, scope: null}, {name: ''}],
])('the claims %j are the grant %j', async (claims, pass) => {
	const source = expect.objectContaining({owner: claims['sub'] ?? ''}) as unknown;
	expect(await judge(jwt(SECRET, good(claims)))).toEqual({kind: 'pass', pass: {...(pass as object), source}});
});

test.each(['x'.repeat(31), `${'x'.repeat(31)}   \n`])('a secret of fewer than 32 bytes is refused', content => {
	const secretPath = fileWith(content);
	expect(() => new Authenticator({kind: 'signed', secretPath, skewSeconds: 30})).toThrow(
		`signed websocket bearer secret ${secretPath} must be at least 32 bytes`,
	);
});

test('an empty secret is refused, and one of 32 bytes in fewer characters is not', () => {
	const empty = fileWith('\n');
	expect(() => new Authenticator({kind: 'signed', secretPath: empty, skewSeconds: 30})).toThrow(
		`websocket auth secret ${empty} must not be empty`,
	);
	expect(new Authenticator({kind: 'signed', secretPath: fileWith('é'.repeat(16)), skewSeconds: 30})).toBeDefined();
});

test('what knows the secret does not show it', async () => {
	const subject = authenticator();
	await subject.authenticate(`Bearer ${jwt(SECRET, good())}`);
	expect(inspect(subject, {depth: 10, showHidden: true}) + JSON.stringify(subject)).not.toContain(SECRET.slice(0, 8));
});
