// covers: src/console/server/console-site.ts, src/console/server/console-logins.ts, src/console/server/refused-logins.ts
import {describe, expect, onTestFinished, test, vi} from 'vitest';
import {
	CONSOLE_SESSION_MS,
	type ConsoleLogin,
	ConsoleLogins,
	MAX_CONSOLE_SESSIONS,
	MAX_SESSIONS_PER_LOGIN,
} from '../../src/console/server/console-logins.js';
import {type ConsoleAdmission, ConsoleSite, type ConsoleSiteOptions} from '../../src/console/server/console-site.js';
import {MAX_WAITING_REFUSALS, RefusedLogins} from '../../src/console/server/refused-logins.js';
import {Deferred} from '../../src/shared/async/deferred.js';
import {listen} from '../../src/transports/node/listener.js';
import {Command} from '../helpers/command.js';
import {ConsoleServer} from '../helpers/consoles.js';
import {eventually} from '../helpers/processes.js';
import {rawRequest, request, UPGRADE} from '../helpers/raw-http.js';
import {clientTransport, connected} from '../helpers/serving.js';
import {TestClient} from '../helpers/test-client.js';
import {fileWith, sha256} from '../helpers/tokens.js';

const IGNORED = {accept: () => {}, withdraw: () => {}};
const PASS = {kind: 'pass', hasRoom: true, connect: async () => IGNORED} as const;
const TOKEN = 'a token of the owner, long enough';
/** Not of params that were misunderstood. */
const REFUSAL = /unknown process id|is not for a token|needs the scope|is not driven by this client/;

async function guarded(): Promise<ConsoleServer> {
	const tokens = fileWith(`[[tokens]]\nname = "ann"\nsha256 = "${sha256(TOKEN)}"\n`, 'tokens.toml');
	return ConsoleServer.start(['--ws-auth', 'capability-token', '--ws-tokens-file', tokens], {
		LONGARM_EXEC_SERVER_TOKEN: TOKEN,
	});
}

function cookieIn(answer: Response): string {
	return answer.headers.get('set-cookie')!.split(';', 1)[0]!;
}

/** A client of the protocol that has come in by the cookie of a share link. */
async function guestOf(server: ConsoleServer, ...flags: string[]): Promise<TestClient> {
	const {stdout} = await server.longarm('share', '--json', ...flags);
	const {token} = JSON.parse(stdout) as {token: string};
	const headers = {cookie: cookieIn(await server.logIn({token})), origin: server.origin};
	const socket = await connected(`${server.url}/console/ws/here`, {headers});
	return new TestClient(clientTransport(socket)).initialize();
}

/** A console in this program, with one machine. */
async function siteOf(
	options: Partial<ConsoleSiteOptions>,
	isOpen = () => true,
): Promise<{url: string; origin: string}> {
	const site = new ConsoleSite({
		files: new Map(),
		logins: new ConsoleLogins(),
		machines: [{id: 'here', name: 'here'}],
		isSecure: false,
		admit: async () => ({kind: 'refused', text: 'no'}),
		...options,
	});
	const listener = await listen({host: '127.0.0.1', port: 0, site, isOpen, accept: transport => transport.destroy()});
	onTestFinished(() => listener.close());
	return {url: listener.url, origin: listener.url.replace('ws', 'http')};
}

describe('a name that was made to lead here', () => {
	const paths = ['GET /console/', 'GET /console/session', 'POST /console/login', 'POST /console/logout'];

	test.for(paths)('gets nothing by %s, though origin and host agree', async line => {
		const {origin} = await siteOf({});
		const [known] = await request(origin, line, {Host: new URL(origin).host, Origin: origin, 'Content-Length': '0'});
		expect(known).not.toBe(421);
		for (const host of ['evil.example', '127.0.0.1.evil.example', 'localhost.evil.example']) {
			const Host = `${host}:${new URL(origin).port}`;
			const headers = {Host, Origin: `http://${Host}`, 'Content-Length': '0'};
			expect([host, (await request(origin, line, headers))[0]]).toEqual([host, 421]);
		}
	});

	test('gets nothing from the console of a user, whose machines ask for no token', async () => {
		const command = new Command(['console', '--listen', '127.0.0.1:0']);
		await command.until(() => command.stdout.includes('\n'), 'the address');
		const {origin} = new URL(command.stdout.trim());
		const Host = `evil.example:${new URL(origin).port}`;
		expect((await request(origin, 'GET /console/', {Host}))[0]).toBe(421);
		expect((await request(origin, 'GET /console/ws/0', {...UPGRADE, Host, Origin: `http://${Host}`}))[0]).toBe(421);
		// The protocol without a login is not served.
		const socket = await connected(origin.replace('http', 'ws')).catch(() => undefined);
		await new Promise(resolve => {
			if (socket) socket.once('close', resolve);
			else resolve(undefined);
		});
	});
});

describe('requests of other origins', () => {
	test.for(['null', 'http://127.0.0.1', 'http://localhost', 'file://', 'not an origin'])(
		'a POST or a WebSocket of %s is refused',
		async foreign => {
			const logins = new ConsoleLogins();
			const cookie = logins.open({kind: 'owner'});
			const {origin} = await siteOf({logins});
			const {host, port} = new URL(origin);
			const headers = {Host: host, Origin: foreign, Cookie: `longarm_console_${port}=${cookie}`};
			for (const line of ['POST /console/login', 'POST /console/logout']) {
				expect((await request(origin, line, {...headers, 'Content-Length': '0'}))[0]).toBe(403);
			}
			expect((await request(origin, 'GET /console/ws/here', {...headers, ...UPGRADE}))[0]).toBe(403);
			// Nothing of it has logged the browser out.
			expect(logins.find(cookie)).toBeDefined();
		},
	);

	test('a POST without an origin is refused, and so is a page of another port of this machine', async () => {
		const {origin} = await siteOf({});
		const {host} = new URL(origin);
		expect((await request(origin, 'POST /console/login', {Host: host, 'Content-Length': '0'}))[0]).toBe(403);
		const logins = new ConsoleLogins();
		const open = await siteOf({
			logins,
			admit: async () => PASS,
		});
		const cookie = `longarm_console_${new URL(open.origin).port}=${logins.open({kind: 'owner'})}`;
		const read = async (site: string): Promise<number> =>
			(await fetch(`${open.origin}/console/session`, {headers: {cookie, 'sec-fetch-site': site}})).status;
		expect([await read('same-origin'), await read('same-site'), await read('cross-site')]).toEqual([200, 401, 401]);
	});
});

test('a connection to a machine that was prepared for a refused or abandoned browser is closed', async () => {
	let isOpen = true;
	let withdrawn = 0;
	const logins = new ConsoleLogins();
	const prepared = {accept: () => {}, withdraw: () => void withdrawn++};
	const connect = async (): Promise<typeof prepared> => {
		isOpen = false;
		return prepared;
	};
	const {origin} = await siteOf({logins, admit: async () => ({...PASS, connect})}, () => isOpen);
	const {host, port} = new URL(origin);
	const Cookie = `longarm_console_${port}=${logins.open({kind: 'owner'})}`;
	const headers = {...UPGRADE, Host: host, Origin: origin, Cookie};
	expect((await request(origin, 'GET /console/ws/here', headers))[0]).toBe(503);
	expect(withdrawn).toBe(1);
	const broken = await siteOf({logins, admit: async () => ({...PASS, connect: async () => prepared})});
	const other = new URL(broken.origin);
	const name = {Host: other.host, Origin: broken.origin, Cookie: Cookie.replace(port, other.port)};
	const protocol = {'Sec-WebSocket-Protocol': ',,'};
	expect((await request(broken.origin, 'GET /console/ws/here', {...headers, ...name, ...protocol}))[0]).toBe(400);
	await eventually(() => withdrawn === 2);
});

test('no path leads out of the files of the page', async () => {
	const server = await ConsoleServer.start();
	const {host} = new URL(server.origin);
	for (const path of [
		'/console/../package.json',
		'/console/../../etc/passwd',
		'/console/..%2f..%2fetc%2fpasswd',
		'/console/%2e%2e/%2e%2e/etc/passwd',
		'/console/..\\..\\etc\\passwd',
		'/console//etc/passwd',
		'/console/index.html%00.js',
		'/console/__proto__',
		'/console/constructor',
		'/consolesession',
	]) {
		expect([path, ...(await request(server.origin, `GET ${path}`, {Host: host}))]).toEqual([path, 404, '']);
	}
});

test('what is secret is never stored by a cache, and what is stored for ever holds no secret', async () => {
	const server = await ConsoleServer.start();
	const cookie = cookieIn(await server.logIn());
	for (const path of ['', 'session', 'index.html']) {
		const {headers} = await fetch(`${server.origin}/console/${path}`, {headers: {cookie}});
		expect([path, headers.get('cache-control')]).toEqual([path, 'no-store']);
	}
	const [one, other] = await Promise.all([1, 2].map(async () => (await fetch(`${server.origin}/console/`)).text()));
	// The nonce is new each time.
	expect(one).not.toBe(other);
	const [, script] = /src="(console-[^"]+\.js)"/.exec(one!)!;
	const {headers} = await fetch(`${server.origin}/console/${script}`, {headers: {cookie}});
	expect(headers.get('cache-control')).toContain('immutable');
	expect(headers.get('set-cookie')).toBeNull();
});

describe('login links', () => {
	test('of many browsers that use one link at the same time, one is let in', async () => {
		const server = await ConsoleServer.start();
		const answers = await Promise.all(Array.from({length: 8}, () => server.logIn()));
		expect(answers.filter(({status}) => status === 204)).toHaveLength(1);
		expect(answers.filter(({status}) => status === 401)).toHaveLength(7);
	});

	test('the cookie is for TLS only where there is TLS', async () => {
		const logins = new ConsoleLogins();
		const {origin} = await siteOf({logins, isSecure: true, admit: async () => PASS});
		const answer = await fetch(`${origin}/console/login`, {
			method: 'POST',
			headers: {'content-type': 'application/json', origin},
			body: JSON.stringify({link: logins.createLink()}),
		});
		expect(answer.headers.get('set-cookie')).toMatch(/; HttpOnly; SameSite=Strict; Secure$/);
	});

	test('those who guess wait for each answer or get none, and lock nobody else out', async () => {
		const over = new Deferred();
		const logins = new ConsoleLogins();
		const {origin} = await siteOf({logins, admit: async () => PASS, refusals: new RefusedLogins(() => over.promise)});
		const link = logins.createLink();
		const attempt = (secret: string): Promise<Response> =>
			fetch(`${origin}/console/login`, {
				method: 'POST',
				headers: {'content-type': 'application/json', origin},
				body: JSON.stringify({link: secret}),
			});
		const guesses = Array.from({length: MAX_WAITING_REFUSALS + 1}, (_, index) => attempt(`guess ${index}`));
		// The others wait.
		expect((await Promise.race(guesses)).status).toBe(429);
		expect((await attempt(link)).status).toBe(204);
		// It is good once all the same.
		expect((await attempt(link)).status).toBe(429);
		over.resolve();
		expect((await Promise.all(guesses)).filter(({status}) => status === 401)).toHaveLength(MAX_WAITING_REFUSALS);
	});
});

const isGood = (login: ConsoleLogin): boolean => login.kind === 'owner' || login.token.startsWith('good');
const admit = async (login: ConsoleLogin): Promise<ConsoleAdmission> =>
	isGood(login) ? PASS : {kind: 'refused', text: 'the token is unknown'};

async function twoLogins(): Promise<{
	logins: ConsoleLogins;
	post: (body: object, cookie?: string) => Promise<Response>;
	cookie: string;
}> {
	const logins = new ConsoleLogins();
	const {origin} = await siteOf({logins, admit, refusals: new RefusedLogins(async () => {})});
	const post = (body: object, cookie?: string): Promise<Response> =>
		fetch(`${origin}/console/login`, {
			method: 'POST',
			headers: {'content-type': 'application/json', origin, ...(cookie !== undefined && {cookie})},
			body: JSON.stringify(body),
		});
	return {logins, post, cookie: cookieIn(await post({token: 'good token of the user'}))};
}

describe('a link that is opened by a browser that is logged in', () => {
	test('does not replace the login unless the user agrees', async () => {
		const {logins, post, cookie} = await twoLogins();
		const session = (): unknown => logins.find(cookie.split('=')[1]!);
		const answer = await post({token: 'good token of an attacker'}, cookie);
		expect([answer.status, answer.headers.get('set-cookie')]).toEqual([409, null]);
		expect((await post({token: 'good token of an attacker', replace: 'yes'}, cookie)).status).toBe(409);
		const link = logins.createLink();
		expect((await post({link}, cookie)).status).toBe(409);
		expect(session()).toBeDefined();
		// A refusal does not use the link up.
		expect((await post({link, replace: true}, cookie)).status).toBe(204);
		expect(session()).toBeUndefined();
	});

	test('is refused as always if it is bad, and accepted if it is for the same login or the login has ended', async () => {
		const {logins, post, cookie} = await twoLogins();
		expect((await post({token: 'bad'}, cookie)).status).toBe(401);
		expect((await post({link: 'used'}, cookie)).status).toBe(401);
		expect((await post({token: 'good token of the user'}, cookie)).status).toBe(204);
		logins.close(cookie.split('=')[1]!);
		expect((await post({token: 'good token of another user'}, cookie)).status).toBe(204);
	});
});

describe('sessions', () => {
	test('the holders of several tokens cannot log out one who has few browsers', () => {
		const logins = new ConsoleLogins();
		const owner = logins.open({kind: 'token', token: 'owner'});
		for (let count = 0; count < 4 * MAX_CONSOLE_SESSIONS; count++) {
			logins.open({kind: 'token', token: `guest ${count % 16}`});
		}
		expect(logins.find(owner)).toBeDefined();
		expect(logins.handOver()).toHaveLength(MAX_CONSOLE_SESSIONS);
	});

	test('the holder of one token cannot log everybody else out', () => {
		const logins = new ConsoleLogins();
		const owner = logins.open({kind: 'token', token: 'owner'});
		const first = logins.open({kind: 'token', token: 'guest'});
		for (let count = 0; count < MAX_CONSOLE_SESSIONS; count++) logins.open({kind: 'token', token: 'guest'});
		expect(logins.find(owner)).toBeDefined();
		expect(logins.find(first)).toBeUndefined();
		expect(logins.handOver()).toHaveLength(1 + MAX_SESSIONS_PER_LOGIN);
	});

	test('a page that stays open is disconnected when the time of its session is over', () => {
		vi.useFakeTimers();
		onTestFinished(() => void vi.useRealTimers());
		const logins = new ConsoleLogins();
		let isEnded = false;
		logins.find(logins.open({kind: 'owner'}))!.connections.add(() => {
			isEnded = true;
		});
		vi.advanceTimersByTime(CONSOLE_SESSION_MS - 1);
		expect(isEnded).toBe(false);
		vi.advanceTimersByTime(1);
		expect(isEnded).toBe(true);
	});

	test('a connection that is still being made when its browser logs out is ended', async () => {
		const logins = new ConsoleLogins();
		const [reaching, reached] = [new Deferred(), new Deferred()];
		const {url, origin} = await siteOf({
			logins,
			admit: async () => ({
				kind: 'pass',
				hasRoom: true,
				connect: async () => {
					reaching.resolve();
					await reached.promise;
					return {accept: () => {}, withdraw: () => {}};
				},
			}),
		});
		const cookie = `longarm_console_${new URL(origin).port}=${logins.open({kind: 'owner'})}`;
		const opening = connected(`${url}/console/ws/here`, {headers: {cookie, origin}}).then(
			socket => new Promise<string>(resolve => socket.once('close', () => resolve('ended'))),
			() => 'ended',
		);
		await reaching.promise;
		await fetch(`${origin}/console/logout`, {method: 'POST', headers: {cookie, origin}});
		reached.resolve();
		expect(await opening).toBe('ended');
	});

	test('one login that cannot be checked keeps no other from being checked', async () => {
		const logins = new ConsoleLogins();
		const [odd, bad, good] = ['odd', 'bad', 'good'].map(token => logins.open({kind: 'token', token}));
		await logins.recheck(async login => {
			const {token} = login as {token: string};
			if (token === 'odd') throw new Error('cannot be read');
			return token === 'good';
		});
		expect([odd, bad, good].map(cookie => logins.find(cookie!) !== undefined)).toEqual([false, false, true]);
	});

	test('the cookie of one server is no login at another one of the same machine', async () => {
		const [one, other] = [await ConsoleServer.start(), await ConsoleServer.start()];
		const [name, value] = cookieIn(await one.logIn()).split('=');
		const cookie = `${name}=${value}; longarm_console_${new URL(other.origin).port}=${value}`;
		expect((await fetch(`${one.origin}/console/session`, {headers: {cookie}})).status).toBe(200);
		expect((await fetch(`${other.origin}/console/session`, {headers: {cookie}})).status).toBe(401);
	});
});

describe('a share link', () => {
	test('for watching is refused everything else by the server itself', async () => {
		const server = await guarded();
		const shown = await server.detached('--name', 'shown', '-t', '--', 'sh', '-c', 'echo visible; sleep 1000');
		const hidden = await server.detached('--name', 'hidden', '--', 'sleep', '1000');
		const guest = await guestOf(server, 'shown');
		const {processes} = await guest.call<{processes: {processId: string}[]}>('process/list', {all: true});
		expect(processes.map(({processId}) => processId)).toEqual([shown]);
		expect(await guest.call('process/attach', {process: shown})).toMatchObject({processId: shown});
		for (const [method, params] of [
			['process/attach', {process: hidden}],
			['process/attach', {process: shown, role: 'drive', takeover: true}],
			['process/screen', {processId: hidden}],
			['process/logs', {processId: hidden}],
			['process/start', {processId: 'mine', argv: ['true'], cwd: 'file:///', env: {}, tty: false}],
			['process/write', {processId: shown, chunk: 'YQ==', writeId: '1'}],
			['process/terminate', {processId: shown}],
			['process/terminate', {processId: hidden}],
			['process/share', {processId: shown}],
			['fs/readFile', {path: 'file:///etc/hostname'}],
			['fs/readDirectory', {path: 'file:///'}],
			['fs/writeFile', {path: `file://${server.home}/x`, dataBase64: ''}],
			['http/request', {method: 'GET', url: server.origin, headers: [], requestId: 'r'}],
		] as const) {
			const answer = await guest.call(method, params).then(
				() => 'done',
				(error: Error) => error.message,
			);
			expect([method, params, answer]).toEqual([method, params, expect.stringMatching(REFUSAL)]);
		}
	});

	test('that has ended opens no page', async () => {
		const server = await guarded();
		await server.detached('--name', 'shown', '--', 'sleep', '1000');
		const {stdout} = await server.longarm('share', '--json', '--for', '1ms', 'shown');
		const {token} = JSON.parse(stdout) as {token: string};
		expect((await server.logIn({token})).status).toBe(401);
	});
});

test('a login that is longer than it says, or never ends, logs nobody in', async () => {
	const {origin} = await siteOf({});
	const {host} = new URL(origin);
	const headers = {Host: host, Origin: origin, 'Content-Type': 'application/json', Connection: 'close'};
	const answer = await rawRequest(origin, 'POST /console/login', {...headers, 'Transfer-Encoding': 'chunked'});
	expect(answer).toMatch(/^HTTP\/1\.1 401 /);
	expect(answer).not.toMatch(/set-cookie/i);
});
