import {writeFileSync} from 'node:fs';
import {describe, expect, test} from 'vitest';
import {
	CONSOLE_SESSION_MS,
	ConsoleLogins,
	LOGIN_LINK_MS,
	MAX_CONSOLE_SESSIONS,
} from '../../src/console/server/console-logins.js';
import {ConsoleServer} from '../helpers/consoles.js';
import {connected} from '../helpers/serving.js';
import {fileWith, sha256} from '../helpers/tokens.js';

const TOKEN = 'a token of the owner, long enough';

/** `Cookie` header of a browser that has this answer. */
function cookieOf(answer: Response): string {
	return answer.headers.get('set-cookie')!.split(';', 1)[0]!;
}

/** Status of the answer to an upgrade request. */
async function upgradeStatus(server: ConsoleServer, headers: Record<string, string>): Promise<number> {
	const url = `${server.url}/console/ws/here`;
	try {
		await connected(url, {headers});
		return 101;
	} catch (error) {
		return Number(/\d{3}/.exec((error as Error).message)?.[0]);
	}
}

describe('without tokens', () => {
	test('a link is exchanged for a cookie once, and is dead then', async () => {
		const server = await ConsoleServer.start();
		const first = await server.logIn();
		expect(first.status).toBe(204);
		expect(first.headers.get('set-cookie')).toMatch(
			/^longarm_console_\d+=[\w-]{43}; Path=\/console; Max-Age=43200; HttpOnly; SameSite=Strict$/,
		);
		const second = await server.logIn();
		expect([second.status, second.headers.get('set-cookie')]).toEqual([401, null]);
		expect(server.server.stderr).not.toContain(server.link.split('#login=')[1]);
	});

	test('a WebSocket needs the cookie, our own origin and our own name', async () => {
		const server = await ConsoleServer.start();
		const cookie = cookieOf(await server.logIn());
		const {origin} = server;
		expect(await upgradeStatus(server, {cookie, origin})).toBe(101);
		expect(await upgradeStatus(server, {origin})).toBe(401);
		expect(await upgradeStatus(server, {cookie: `${cookie}x`, origin})).toBe(401);
		expect(await upgradeStatus(server, {cookie})).toBe(403);
		expect(await upgradeStatus(server, {cookie, origin: 'http://elsewhere.example'})).toBe(403);
		expect(await upgradeStatus(server, {cookie, origin: origin.replace(/\d+$/, '1')})).toBe(403);
		expect(await upgradeStatus(server, {cookie, origin: 'http://evil.example', host: 'evil.example'})).toBe(421);
	});

	test('a page of another origin gets nothing, whatever it sends', async () => {
		const server = await ConsoleServer.start();
		const foreign = await server.logIn(undefined, {origin: 'http://elsewhere.example'});
		expect(foreign.status).toBe(403);
		const cookie = cookieOf(await server.logIn());
		const read = (headers: Record<string, string>): Promise<Response> =>
			fetch(`${server.origin}/console/session`, {headers: {cookie, ...headers}});
		expect((await read({})).status).toBe(200);
		expect((await read({'sec-fetch-site': 'cross-site'})).status).toBe(401);
		expect((await read({})).headers.get('access-control-allow-origin')).toBeNull();
	});

	test('every answer forbids inline scripts, sniffing, frames and referrers', async () => {
		const {origin} = await ConsoleServer.start();
		for (const path of [
			'/console',
			'/console/',
			'/console/session',
			'/console/no-such-file',
			'/console/../etc/passwd',
		]) {
			const {headers} = await fetch(`${origin}${path}`, {redirect: 'manual'});
			if (path.includes('..')) continue;
			const policy = headers.get('content-security-policy')!;
			expect(policy).toContain("default-src 'none'");
			expect(policy).toContain("script-src 'self';");
			expect(policy).toContain("frame-ancestors 'none'");
			expect(policy).not.toContain('unsafe');
			expect(headers.get('x-content-type-options')).toBe('nosniff');
			expect(headers.get('referrer-policy')).toBe('no-referrer');
		}
	});

	test('bodies that are too large or no JSON log nobody in', async () => {
		const server = await ConsoleServer.start();
		expect((await server.logIn({link: 'x'.repeat(100_000)})).status).toBe(401);
		expect((await server.logIn({}, {'content-type': 'text/plain'})).status).toBe(401);
		expect((await server.logIn({token: 'any'})).status).toBe(401);
		expect((await server.logIn()).status).toBe(204);
	});

	test('logging out ends open connections and the cookie', async () => {
		const server = await ConsoleServer.start();
		const cookie = cookieOf(await server.logIn());
		const {origin} = server;
		const socket = await connected(`${server.url}/console/ws/here`, {headers: {cookie, origin}});
		const closed = new Promise(resolve => {
			socket.once('close', resolve);
		});
		await fetch(`${origin}/console/logout`, {method: 'POST', headers: {cookie, origin}});
		await closed;
		expect(await upgradeStatus(server, {cookie, origin})).toBe(401);
	});

	test('without the flag there is no console', async () => {
		const {Command} = await import('../helpers/command.js');
		const server = new Command(['serve', '--listen', 'ws://127.0.0.1:0']);
		const url = (await server.url()).replace('ws', 'http');
		expect((await fetch(`${url}/console/`)).status).toBe(404);
	});
});

const guarded = async (): Promise<{server: ConsoleServer; tokens: string}> => {
	const tokens = fileWith(`[[tokens]]\nname = "ann"\nsha256 = "${sha256(TOKEN)}"\n`, 'tokens.toml');
	const flags = ['--ws-auth', 'capability-token', '--ws-tokens-file', tokens];
	return {tokens, server: await ConsoleServer.start(flags, {LONGARM_EXEC_SERVER_TOKEN: TOKEN})};
};

describe('with tokens', () => {
	test('the printed address has no secret, and a token logs in', async () => {
		const {server} = await guarded();
		expect(server.link).toBe(`${server.origin}/console/`);
		expect((await server.logIn({token: 'wrong'})).status).toBe(401);
		const answer = await server.logIn({token: TOKEN});
		expect(answer.status).toBe(204);
		expect(await upgradeStatus(server, {cookie: cookieOf(answer), origin: server.origin})).toBe(101);
	});

	test('a share link opens exactly one process in one role', async () => {
		const {server} = await guarded();
		const id = await server.detached('--name', 'shown', '--', 'sleep', '1000');
		const {stdout} = await server.longarm('share', '--json', 'shown');
		const {token} = JSON.parse(stdout) as {token: string};
		const cookie = cookieOf(await server.logIn({token}));
		const session = await fetch(`${server.origin}/console/session`, {headers: {cookie}});
		expect(await session.json()).toMatchObject({share: {processId: id, role: 'observe'}});
	});

	test('a page left open when its token is revoked is disconnected', async () => {
		const {server, tokens} = await guarded();
		const {origin} = server;
		const cookie = cookieOf(await server.logIn({token: TOKEN}));
		const socket = await connected(`${server.url}/console/ws/here`, {headers: {cookie, origin}});
		const closed = new Promise(resolve => {
			socket.once('close', resolve);
		});
		writeFileSync(tokens, `[[tokens]]\nname = "bob"\nsha256 = "${sha256('another one')}"\n`);
		process.kill(server.server.pid, 'SIGHUP');
		await closed;
		expect(await upgradeStatus(server, {cookie, origin})).toBe(401);
	});
});

describe('kept logins', () => {
	test('links and sessions expire', () => {
		let now = 0;
		const logins = new ConsoleLogins(() => now);
		const [early, late] = [logins.createLink(), logins.createLink()];
		now = LOGIN_LINK_MS - 1;
		expect(logins.useLink(early)).toBe(true);
		now = LOGIN_LINK_MS;
		expect(logins.useLink(late)).toBe(false);
		const cookie = logins.open({kind: 'owner'});
		now += CONSOLE_SESSION_MS - 1;
		expect(logins.find(cookie)).toBeDefined();
		now++;
		expect(logins.find(cookie)).toBeUndefined();
	});

	test('the session that was not used for longest makes room, and its connections end', () => {
		const logins = new ConsoleLogins();
		const [first, second] = [logins.open({kind: 'owner'}), logins.open({kind: 'owner'})];
		let isEnded = false;
		logins.find(second)!.connections.add(() => {
			isEnded = true;
		});
		logins.find(first);
		for (let count = 2; count <= MAX_CONSOLE_SESSIONS; count++) logins.open({kind: 'token', token: String(count)});
		expect([logins.find(first) !== undefined, logins.find(second), isEnded]).toEqual([true, undefined, true]);
	});
});

test('share prints the link for a browser, too, on a server with a console', async () => {
	const {server} = await guarded();
	const id = await server.detached('--', 'sleep', '1000');
	const {stdout} = await server.longarm('share', '--json', id);
	const {link, consoleLink} = JSON.parse(stdout) as Record<string, string>;
	expect(consoleLink).toBe(`${server.origin}/console/#${link!.split('#')[1]}`);
	const shared = await server.longarm('share', id);
	expect(shared.stdout.trim().split('\n')).toHaveLength(1);
	expect(shared.stderr).toContain(`in a browser: ${server.origin}/console/#share=`);
});
