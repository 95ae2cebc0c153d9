import {once} from 'node:events';
import {connect, createServer, type Socket} from 'node:net';
import {expect, onTestFinished, test} from 'vitest';
import {parseForward} from '../../src/cli/commands/forward/forward-spec.js';
import {formatHostPort} from '../../src/environments/ports/forwarded-port.js';
import {Command, PROGRAM, run} from '../helpers/command.js';
import {needsRoot, runAsNobody} from '../helpers/needs.js';
import {eventually} from '../helpers/processes.js';
import {type Serving, serving} from '../helpers/serving.js';
import {echo, rawOrigin} from '../network/origin.js';

const MiB = 1024 * 1024;

interface Forwarding {
	readonly command: Command;
	readonly server: Serving;
	/** Where it listens, in the order of asking. */
	readonly ports: number[];
}

async function forwarding(specs: readonly string[]): Promise<Forwarding> {
	const server = await serving({allowForward: 'loopback'});
	const command = new Command(['forward', '-e', server.url, ...specs]);
	await command.until(() => command.stdout.split('\n').length > specs.length, 'a line for each port');
	const ports = [...command.stdout.matchAll(/^\S+:(\d+) -> /gm)].map(match => Number(match[1]));
	return {command, server, ports};
}

async function connected(port: number, host = '127.0.0.1'): Promise<Socket> {
	const socket = connect({port, host, allowHalfOpen: true});
	socket.on('error', () => {});
	onTestFinished(() => void socket.destroy());
	await once(socket, 'connect');
	return socket;
}

/** Everything until the end of this direction; fails on a reset. */
async function everything(socket: Socket): Promise<Buffer> {
	const chunks: Buffer[] = [];
	socket.on('data', chunk => chunks.push(chunk));
	await once(socket, 'end');
	return Buffer.concat(chunks);
}

async function closedWith(socket: Socket): Promise<string | undefined> {
	const [error] = (await Promise.race([once(socket, 'error'), once(socket, 'end')])) as [NodeJS.ErrnoException?];
	return error?.code;
}

/** Sends so much through an echo, and ends its own direction first. */
async function round(at: number, fill: string): Promise<void> {
	const socket = await connected(at);
	const content = Buffer.alloc(5 * MiB + 7, fill);
	const back = everything(socket);
	socket.end(content);
	expect((await back).equals(content)).toBe(true);
}

test.each([
	['8080:3000', {address: '127.0.0.1', port: 8080, host: 'localhost', remotePort: 3000}],
	['3000', {address: '127.0.0.1', port: 3000, host: 'localhost', remotePort: 3000}],
	['0:3000', {address: '127.0.0.1', port: 0, host: 'localhost', remotePort: 3000}],
	['0.0.0.0:8080:3000', {address: '0.0.0.0', port: 8080, host: 'localhost', remotePort: 3000}],
	['8080:db.internal:5432', {address: '127.0.0.1', port: 8080, host: 'db.internal', remotePort: 5432}],
	['[::1]:8080:[fe80::1]:80', {address: '::1', port: 8080, host: 'fe80::1', remotePort: 80}],
	['localhost:1:10.0.0.1:2', {address: 'localhost', port: 1, host: '10.0.0.1', remotePort: 2}],
])('%s is understood', (text, spec) => {
	expect(parseForward(text)).toEqual(spec);
	const whole = `${formatHostPort(spec.address, spec.port)}:${formatHostPort(spec.host, spec.remotePort)}`;
	expect(parseForward(whole)).toEqual(spec);
});

test.each([
	'',
	'0',
	'70000',
	'host',
	'8080:',
	':3000',
	'8080:0',
	'8080:70000',
	'1:2:3',
	'a:b',
	'8080:x:',
	'::1:1:2',
	'1:2:3:4:5',
	'[::1:80:80',
])('`%s` is refused', text => {
	expect(() => parseForward(text)).toThrow(/cannot forward/);
});

test('a forwarded port on loopback is for the user who asked for it', needsRoot(), async () => {
	const {port} = await rawOrigin(echo);
	const {command, ports} = await forwarding([`0:${port}`, `0.0.0.0:0:${port}`]);
	const codes = await runAsNobody(async () => closedWith(await connected(ports[0]!)));
	expect(codes).toBe('ECONNRESET');
	await command.until(() => /the user 65534/.test(command.stderr), 'the reason');
	const open = await runAsNobody(() => connected(ports[1]!));
	const back = everything(open);
	open.end('hi');
	expect(String(await back)).toBe('hi');
});

test('a port there is a port here: megabytes both ways, each direction ending by itself', async () => {
	const {port} = await rawOrigin(echo);
	const {command, server, ports} = await forwarding([`0:${port}`, `127.0.0.1:0:127.0.0.1:${port}`]);
	expect(command.stdout).toBe(
		`127.0.0.1:${ports[0]} -> localhost:${port} of ${server.url}\n` +
			`127.0.0.1:${ports[1]} -> 127.0.0.1:${port} of ${server.url}\n`,
	);
	await Promise.all([round(ports[0]!, 'abc'), round(ports[0]!, 'defg'), round(ports[1]!, 'hi')]);
	command.child.kill('SIGINT');
	expect(await command.ended).toEqual({code: 0, signal: null});
	expect(command.stderr).toBe('');
});

test('a reader that stops makes the port there wait, and gets every byte later', async () => {
	const content = Buffer.alloc(48 * MiB, 'abcdefg');
	const {port, sockets} = await rawOrigin(socket => socket.end(content));
	const {ports} = await forwarding([`0:${port}`]);
	const slow = await connected(ports[0]!);
	await eventually(() => sockets.length === 1);
	slow.pause();
	// Another connection makes its way meanwhile, and then there is still something left of the first.
	const quick = await connected(ports[0]!);
	expect((await everything(quick)).equals(content)).toBe(true);
	expect(sockets[0]!.writableFinished).toBe(false);
	const rest = everything(slow);
	slow.resume();
	expect((await rest).equals(content)).toBe(true);
});

test('a connection refused there is one line here, and a reset; others go on', async () => {
	const {port} = await rawOrigin(echo);
	const {command, ports, server} = await forwarding([`0:${port}`, '0:1']);
	const open = await connected(ports[0]!);
	const refused = await connected(ports[1]!);
	expect(await closedWith(refused)).toBe('ECONNRESET');
	await command.logs('\n');
	expect(command.stderr).toMatch(new RegExp(`^localhost:1 of ${server.url}: forwarding failed: .*ECONNREFUSED.*\n$`));
	const back = everything(open);
	open.end('still here');
	expect(String(await back)).toBe('still here');
});

test('a reset there is a reset here, not an end', async () => {
	const {port, sockets} = await rawOrigin(socket => void socket.write('x'));
	const {ports} = await forwarding([`0:${port}`]);
	const socket = await connected(ports[0]!);
	await once(socket, 'data');
	sockets[0]!.resetAndDestroy();
	expect(await closedWith(socket)).toBe('ECONNRESET');
});

test('whoever connected here and breaks off is no news, and the port there is let go', async () => {
	const {port, sockets} = await rawOrigin(socket => socket.resume());
	const {command, ports} = await forwarding([`0:${port}`, '0:1']);
	const socket = await connected(ports[0]!);
	await eventually(() => sockets.length === 1);
	socket.resetAndDestroy();
	await eventually(() => sockets[0]!.readableEnded || sockets[0]!.destroyed);
	// The next line is about another connection.
	await connected(ports[1]!);
	await command.logs('\n');
	expect(command.stderr).toMatch(/^localhost:1 of /);
});

test('a lost link closes what was open, and new connections work', async () => {
	const {port} = await rawOrigin(echo);
	const {command, server, ports} = await forwarding([`0:${port}`]);
	const open = await connected(ports[0]!);
	open.write('x');
	await once(open, 'data');
	server.ends[0]!.rpc.destroy();
	expect(await closedWith(open)).toBe('ECONNRESET');
	await command.logs(`${server.url} is back\n`);
	const next = await connected(ports[0]!);
	const back = everything(next);
	next.end('again');
	expect(String(await back)).toBe('again');
});

test('a command that ends takes its ports with it, and says why', async () => {
	const {port} = await rawOrigin(echo);
	const given = `cmd:echo $$ >&2; exec ${process.execPath} ${PROGRAM} serve --listen stdio --log-level silent --allow-forward any`;
	const command = new Command(['forward', '-e', given, `0:${port}`]);
	await command.until(() => command.stdout.includes('->'), 'a line for the port');
	await command.logs('\n');
	process.kill(Number(/^\d+/.exec(command.stderr)![0]), 'SIGKILL');
	expect(await command.ended).toEqual({code: 1, signal: null});
	expect(command.stderr).toMatch(/\nerror: exec-server transport disconnected.*\n$/);
});

test('JSON for programs', async () => {
	const {url} = await serving({allowForward: 'loopback'});
	const command = new Command(['forward', '-e', url, '0:3000', '--json']);
	await command.until(() => command.stdout.includes('\n'), 'a line');
	expect(JSON.parse(command.stdout)).toEqual({
		local: {address: '127.0.0.1', port: expect.any(Number) as number},
		remote: {host: 'localhost', port: 3000},
		environment: url,
	});
	command.child.kill('SIGTERM');
	expect(await command.ended).toEqual({code: 0, signal: null});
});

test('a server that does not forward is told apart from a port that is taken', async () => {
	const {url} = await serving();
	expect(await run(['forward', '-e', url, '0:1'])).toEqual({
		code: 1,
		signal: null,
		stdout: '',
		stderr:
			'error: this server forwards no connections\n' +
			'hint: Start that server with --allow-forward loopback (its own ports) or --allow-forward any.\n',
	});
	const taken = createServer().listen(0, '127.0.0.1');
	onTestFinished(() => void taken.close());
	await once(taken, 'listening');
	const {port} = taken.address() as {port: number};
	const second = await run(['forward', `${port}:1`]);
	expect([second.code, second.stderr]).toEqual([
		1,
		`error: cannot listen on 127.0.0.1:${port}: the port is taken; port 0 picks a free one\n`,
	]);
});
