// covers: src/transports/node/peer-watch.ts, src/client/session/recovery.ts, src/server/connection/sessions.ts
import {randomBytes} from 'node:crypto';
import {once} from 'node:events';
import {readFileSync, writeFileSync} from 'node:fs';
import {connect} from 'node:net';
import {join} from 'node:path';
import {describe, expect, onTestFinished, test} from 'vitest';
import {Command, PROGRAM} from '../helpers/command.js';
import {isRoot, needs, unless} from '../helpers/needs.js';
import {OnTerminal} from '../helpers/on-terminal.js';
import {eventually, isAlive, untilDead} from '../helpers/processes.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {router, silentProxy} from '../helpers/vanishing.js';
import {echo, rawOrigin} from '../network/origin.js';

const MiB = 1024 * 1024;
const LOST = 'longarm: the link is lost, connecting again; two Ctrl-C leave\n';
const BACK = 'longarm: the link is back\n';
/** A fifth of the defaults and less, so that a test takes seconds. */
const SERVER_TIMES = ['--ping-interval', '500ms', '--peer-timeout', '2500ms'];
const CLIENT_TIMES = 'ping_interval_sec = 0.5\npeer_timeout_sec = 2.5\n';
const ENVIRONMENT = 'far';

/** A server whose client can lose it without either hearing of it. */
interface Vanishing {
	readonly server: Command;
	/** Starts a command that knows the server by the name `far`. */
	readonly start: (args: readonly string[], options?: {ownStdout?: boolean}) => Command;
	/** Its variables, for programs that are started otherwise. */
	readonly home: string;
	/** From now on nothing passes over the connections there are. */
	readonly vanish: () => void;
	/** New connections pass again, where they did not. */
	readonly heal: () => void;
}

async function vanishing(way: 'proxy' | 'router' | 'flow', settings: readonly string[] = []): Promise<Vanishing> {
	const args = ['serve', '--log-format', 'json', ...SERVER_TIMES, ...settings];
	const home = scratchDirectory();
	const know = (url: string): void =>
		writeFileSync(
			join(home, 'environments.toml'),
			`[[environments]]\nid = "${ENVIRONMENT}"\nurl = "${url}"\n${CLIENT_TIMES}`,
		);
	const env = {LONGARM_HOME: home};
	if (way === 'proxy') {
		const server = new Command(args);
		const proxy = await silentProxy(await server.url());
		know(proxy.url);
		const start = (given: readonly string[], options = {}) => new Command(given, {...options, env});
		return {server, start, home, vanish: () => proxy.swallow(), heal: () => {}};
	}
	const network = await router();
	const listen = ['--listen', `ws://${network.server}:0`, '--dangerously-allow-unauthenticated-network'];
	const server = new Command([...args, ...listen], {via: network.onServer});
	const url = await server.url();
	know(url);
	const start = (given: readonly string[], options = {}) =>
		new Command(given, {...options, env, via: network.onClient});
	if (way === 'router') return {server, start, home, vanish: () => network.drop(), heal: () => network.pass()};
	return {server, start, home, vanish: () => void network.killFlows(Number(new URL(url).port)), heal: () => {}};
}

const routed = isRoot ? needs('ip') : unless('only root can make network namespaces');
const WAYS = [
	['a proxy that swallows everything', 'proxy', {}],
	['a router that loses all packets for a while', 'router', routed],
	['a router that has forgotten the connection', 'flow', routed],
] as const;

describe.each(WAYS)('behind %s', (_name, way, options) => {
	test('an idle command is found again', options, async () => {
		const {server, start, vanish, heal} = await vanishing(way);
		const go = join(scratchDirectory(), 'go');
		const command = start([
			'run',
			'-e',
			ENVIRONMENT,
			'--',
			'sh',
			'-c',
			`echo one; until [ -e ${go} ]; do sleep 0.01; done; exit 4`,
		]);
		await command.until(() => command.stdout === 'one\n', 'the first line');
		vanish();
		await command.logs(LOST);
		heal();
		await command.logs(BACK);
		expect(server.stderr).toMatch(/client vanished|session taken over|client does not answer/);
		writeFileSync(go, '');
		expect(await command.ended).toEqual({code: 4, signal: null});
		expect([command.stdout, command.stderr]).toEqual(['one\n', LOST + BACK]);
	});

	test('a command that writes all the time loses no line', options, async () => {
		const {start, vanish, heal} = await vanishing(way);
		const script = 'i=0; while [ $i -lt 500 ]; do i=$((i+1)); echo $i; sleep 0.01; done';
		const command = start(['run', '-e', ENVIRONMENT, '--', 'sh', '-c', script]);
		await command.until(() => command.stdout.includes('\n20\n'), 'some lines');
		vanish();
		await command.logs(LOST);
		heal();
		expect(await command.ended).toEqual({code: 0, signal: null});
		expect(command.stdout).toBe(Array.from({length: 500}, (_each, index) => `${index + 1}\n`).join(''));
		expect(command.stderr).toBe(LOST + BACK);
	});

	test('input under way arrives, each byte once', options, async () => {
		const {start, vanish, heal} = await vanishing(way);
		const command = start(['run', '-e', ENVIRONMENT, '--', 'cat'], {ownStdout: true});
		const content = randomBytes(4 * MiB);
		const received: Buffer[] = [];
		const size = (): number => received.reduce((sum, {length}) => sum + length, 0);
		command.child.stdout.on('data', (chunk: Buffer) => received.push(chunk));
		command.child.stdin.write(content.subarray(0, MiB));
		await eventually(() => size() === MiB);
		vanish();
		command.child.stdin.end(content.subarray(MiB));
		await command.logs(LOST);
		heal();
		expect(await command.ended).toEqual({code: 0, signal: null});
		await eventually(() => size() >= content.length);
		expect(Buffer.concat(received).equals(content)).toBe(true);
	});
});

test.each(['to', 'from'])('a copy %s a server that vanished ends whole', async direction => {
	const {start, vanish} = await vanishing('proxy');
	const directory = scratchDirectory();
	const [source, target] = [join(directory, 'source'), join(directory, 'target')];
	writeFileSync(source, randomBytes(256 * MiB));
	const paths = direction === 'to' ? [source, `${ENVIRONMENT}:${target}`] : [`${ENVIRONMENT}:${source}`, target];
	const command = start(['cp', ...paths]);
	await eventually(() => hasBegun(`${target}.longarm-part`));
	vanish();
	await command.logs('the connection was lost');
	expect(await command.ended).toEqual({code: 0, signal: null});
	expect(readFileSync(target).equals(readFileSync(source))).toBe(true);
});

function hasBegun(path: string): boolean {
	try {
		return readFileSync(path).length > 0;
	} catch {
		return false;
	}
}

test('connections through a forwarded port are reset, and the next ones work', async () => {
	const {start, vanish} = await vanishing('proxy', ['--allow-forward', 'loopback']);
	const {port} = await rawOrigin(echo);
	const command = start(['forward', '-e', ENVIRONMENT, `0:127.0.0.1:${port}`]);
	await command.until(() => command.stdout.includes('\n'), 'its port');
	const own = Number(/:(\d+) -> /.exec(command.stdout)![1]);
	const dial = () => {
		const socket = connect({port: own, host: '127.0.0.1'}).on('error', () => {});
		onTestFinished(() => void socket.destroy());
		return socket;
	};
	const first = dial();
	first.write('one');
	expect(String((await once(first, 'data'))[0])).toBe('one');
	vanish();
	first.write('two');
	const [error] = (await once(first, 'error')) as [NodeJS.ErrnoException];
	expect(error.code).toBe('ECONNRESET');
	await command.logs('far is back');
	const second = dial();
	second.write('three');
	expect(String((await once(second, 'data'))[0])).toBe('three');
});

test('a shell says that the link is lost and back, and goes on', async () => {
	const {home, vanish} = await vanishing('proxy');
	const terminal = await OnTerminal.start([
		'env',
		`LONGARM_HOME=${home}`,
		process.execPath,
		PROGRAM,
		'shell',
		'-e',
		ENVIRONMENT,
		'--',
		'sh',
	]);
	await terminal.type('x=kept; echo rea"dy"\n');
	await terminal.shows('ready');
	vanish();
	await terminal.shows('the link is lost');
	await terminal.shows('the link is back');
	await terminal.type('echo "it is $x"; exit\n');
	await terminal.shows('it is kept');
	expect((await terminal.exited).exitCode).toBe(0);
});

test('a client that was stopped for longer than a session without a client lives goes on all the same', async () => {
	const {server, start} = await vanishing('proxy', ['--detached-session', '1s']);
	const go = join(scratchDirectory(), 'go');
	const command = start([
		'run',
		'-e',
		ENVIRONMENT,
		'--',
		'sh',
		'-c',
		`echo one; until [ -e ${go} ]; do sleep 0.01; done; echo two`,
	]);
	await command.until(() => command.stdout === 'one\n', 'the first line');
	command.child.kill('SIGSTOP');
	await server.logs('client does not answer, its machine does');
	command.child.kill('SIGCONT');
	await command.until(() => command.stderr.includes('the link is back'), 'the link');
	writeFileSync(go, '');
	expect(await command.ended).toEqual({code: 0, signal: null});
	expect(command.stdout).toBe('one\ntwo\n');
});

test('a client whose machine is gone loses its processes when the time of its session is over', routed, async () => {
	const {server, start, vanish} = await vanishing('router', ['--detached-session', '500ms']);
	const command = start(['run', '-e', ENVIRONMENT, '--', 'sh', '-c', 'echo $$; exec sleep 1000']);
	await command.until(() => command.stdout.includes('\n'), 'its process');
	const pid = Number(command.stdout);
	expect(isAlive(pid)).toBe(true);
	vanish();
	await server.logs('client vanished, its session can be resumed');
	await untilDead(pid);
	expect(isAlive(pid)).toBe(false);
});

test('a client behind a proxy that holds its connection is given up when a stopped one would be', async () => {
	const {server, start, vanish} = await vanishing('proxy', ['--stopped-peer', '4s', '--detached-session', '500ms']);
	const command = start(['run', '-e', ENVIRONMENT, '--', 'sh', '-c', 'echo $$; exec sleep 1000']);
	await command.until(() => command.stdout.includes('\n'), 'its process');
	const pid = Number(command.stdout);
	vanish();
	command.child.kill('SIGKILL');
	await server.logs('client does not answer, its machine does');
	await server.logs('the other end has not answered for');
	await untilDead(pid);
	expect(isAlive(pid)).toBe(false);
});
