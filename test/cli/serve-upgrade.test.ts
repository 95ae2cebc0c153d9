// covers: src/cli/commands/serve/upgrade-server.ts, take-handoff.ts, src/shared/node/replace-program.ts
import {existsSync, readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {describe, expect, test} from 'vitest';
import {MAX_QUEUED_STDIN_BYTES} from '../../src/processes/stdin-queue.js';
import {listChildren} from '../../src/processes/tree/process-tree.js';
import {Authority} from '../helpers/certificates.js';
import {needs, needsSandbox, unless} from '../helpers/needs.js';
import {joined, listed, toldPids} from '../helpers/process-api.js';
import {eventually, isAlive, untilDead} from '../helpers/processes.js';
import {workspacePolicy} from '../helpers/sandboxes.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {DAEMON, FAMILY, FAMILY_SIZE, findWatchdog, noUnprivilegedServer, UNPRIVILEGED} from '../helpers/subreaper.js';
import {
	collect,
	counting,
	countLines,
	NEXT_VERSION,
	startScript,
	UpgradableServer,
	waitingFor,
} from '../helpers/upgrades.js';

const WHOLE = ['exited', 'closed'];
const MIB = 1024 * 1024;

test('processes keep their pids and lose no line over three upgrades, and the new version tells their exit codes', async () => {
	const server = new UpgradableServer();
	const client = await server.client();
	const stop = join(scratchDirectory(), 'stop');
	const onPipes = await startScript(client, 'pipes', counting(stop));
	const onTerminal = await startScript(client, 'terminal', counting(stop), {tty: true});
	const results = Promise.all([onPipes, onTerminal].map(collect));
	const {processes: before} = await client.call('process/list', {});
	server.installNextVersion();
	for (let count = 0; count < 3; count++) {
		const seq = onTerminal.lastSeq;
		await server.upgrade();
		await onTerminal.waitForSeq(seq + 2);
	}
	const {processes: after} = await client.repeat('process/list', {});
	expect(after.map(({pid}) => pid)).toEqual(before.map(({pid}) => pid));
	expect(after.every(({pid}) => listChildren(server.command.pid).includes(pid!))).toBe(true);
	expect((await client.repeat('environment/info', {})).executorVersion).toBe(NEXT_VERSION);
	writeFileSync(stop, '');
	for (const {text, ends, exitCode} of await results) {
		expect({ends, exitCode}).toEqual({ends: WHOLE, exitCode: 7});
		expect(countLines(text)).toBeTypeOf('number');
	}
	expect(server.command.stdout.trim()).toBe(await server.command.url());
	expect(client.state).toBe('connected');
});

describe('input', () => {
	test('that was accepted arrives, in order and once', async () => {
		const server = new UpgradableServer();
		const client = await server.client();
		const cat = await startScript(client, 'cat', 'cat', {io: {pipe: {stdin: 'open'}}});
		const output = collect(cat);
		for (let count = 1; count <= 30; count++) {
			await cat.write(`line ${count}\n`);
			if (count % 10 === 0) await server.upgrade();
		}
		await cat.closeStdin();
		expect(await output).toMatchObject({ends: WHOLE, exitCode: 0});
		expect(countLines((await output).text)).toBe(30);
	});

	test('that a process has not read yet is whole after several upgrades, with the end of it', async () => {
		const server = new UpgradableServer();
		const client = await server.client();
		const go = join(scratchDirectory(), 'go');
		const late = await startScript(client, 'late', `until [ -e ${go} ]; do sleep 0.02; done; cksum`, {
			io: {pipe: {stdin: 'open'}},
		});
		const output = collect(late);
		const block = Buffer.alloc(MIB, 'abcdefghijklmno\n');
		const blocks = (MAX_QUEUED_STDIN_BYTES / MIB) * 1.5;
		// Some of them are accepted; the others wait for room, and are sent again by the client.
		const writes = Array.from({length: blocks}, () => late.write(block));
		await Promise.all(writes.slice(0, 4));
		for (let count = 0; count < 3; count++) await server.upgrade();
		writeFileSync(go, '');
		await Promise.all(writes);
		await late.closeStdin();
		const {text, exitCode} = await output;
		expect(exitCode).toBe(0);
		expect(Number(text.split(' ')[1])).toBe(blocks * MIB);
	});

	test('to a terminal that does not read is kept', async () => {
		const server = new UpgradableServer();
		const client = await server.client();
		const go = join(scratchDirectory(), 'go');
		const script = `stty raw -echo; echo ready; until [ -e ${go} ]; do sleep 0.02; done; head -c 40000 | cksum`;
		const late = await startScript(client, 'late', script, {tty: true});
		const output = collect(late);
		await late.waitForSeq(0);
		await late.write(Buffer.alloc(40_000, 'x'));
		await server.upgrade();
		writeFileSync(go, '');
		expect((await output).text).toMatch(/ready\r?\n\d+ 40000/);
	});
});

test('a process that exits while the new program is loaded has its exit code and its last words', async () => {
	const server = new UpgradableServer();
	const client = await server.client();
	const directory = scratchDirectory();
	const [released, arrived, end] = ['released', 'arrived', 'end'].map(name => join(directory, name)) as [
		string,
		string,
		string,
	];
	const script = `echo $$; until [ -e ${end} ]; do sleep 0.02; done; echo bye; exit 5`;
	const onPipes = await startScript(client, 'pipes', script);
	const onTerminal = await startScript(client, 'terminal', script, {tty: true});
	const results = Promise.all([onPipes, onTerminal].map(collect));
	const {processes} = await client.call('process/list', {});
	server.install(waitingFor(released, arrived));
	server.signal();
	await eventually(() => existsSync(arrived));
	writeFileSync(end, '');
	await untilDead(...processes.map(({pid}) => pid!));
	writeFileSync(released, '');
	await server.upgraded();
	for (const result of await results) {
		expect(result).toMatchObject({ends: WHOLE, exitCode: 5});
		expect(result.text).toMatch(/^\d+\r?\nbye\r?\n$/);
	}
});

test('output that its reader has to acknowledge is exact, however slow the reader and whatever the number of upgrades', async () => {
	const server = new UpgradableServer(['--retain-bytes', '64KiB']);
	const client = await server.client();
	const size = 24 * MIB;
	const source = await startScript(client, 'source', `yes 0123456789abcde | head -c ${size}`, {
		options: {backpressure: true},
	});
	let bytes = 0;
	let isExact = true;
	let upgrades = 0;
	for await (const output of source.output()) {
		if (output.kind !== 'output') throw new Error(output.kind);
		const expected = Buffer.alloc(output.bytes.length + 16, '0123456789abcde\n').subarray(bytes % 16);
		isExact &&= Buffer.compare(output.bytes, expected.subarray(0, output.bytes.length)) === 0;
		bytes += output.bytes.length;
		if (upgrades < 3 && bytes > ((upgrades + 1) * size) / 4) {
			upgrades++;
			await server.upgrade();
		}
	}
	expect({bytes, isExact, upgrades}).toEqual({bytes: size, isExact: true, upgrades: 3});
});

test('a flood is held back until its client has come back: nothing is evicted before', async () => {
	const server = new UpgradableServer();
	const client = await server.client();
	const stop = join(scratchDirectory(), 'stop');
	const flood = `while [ ! -e ${stop} ]; do cat ${process.execPath} | head -c 4000000; done; exit 3`;
	const handle = await startScript(client, 'flood', flood);
	const result = (async () => {
		const ends: string[] = [];
		for await (const event of handle.events()) if (event.kind !== 'output') ends.push(event.kind);
		return ends;
	})();
	for (let count = 0; count < 3; count++) {
		const seq = handle.lastSeq;
		await server.upgrade();
		await handle.waitForSeq(seq + 50);
	}
	writeFileSync(stop, '');
	expect(await result).toEqual(WHOLE);
});

test('a terminal that floods loses no byte, though reads of it are under way at every upgrade', async () => {
	const server = new UpgradableServer();
	const client = await server.client();
	const lines = 1_000_000;
	const script = `stty raw -echo; exec seq 1 ${lines}`;
	const handle = await startScript(client, 'flood', script, {tty: true, options: {backpressure: true}});
	let rest = '';
	let next = 1;
	let isExact = true;
	let upgrades = 0;
	let bytes = 0;
	for await (const event of handle.output()) {
		if (event.kind !== 'output') throw new Error(event.kind);
		bytes += event.bytes.length;
		const parts = (rest + Buffer.from(event.bytes).toString('latin1')).split('\n');
		rest = parts.pop()!;
		for (const part of parts) isExact &&= part === String(next++);
		if (upgrades < 3 && bytes > (upgrades + 1) * MIB) {
			upgrades++;
			await server.upgrade();
		}
	}
	expect({isExact, next, upgrades}).toEqual({isExact: true, next: lines + 1, upgrades: 3});
});

test('ended processes, ages and ids of a session are as before', async () => {
	const server = new UpgradableServer();
	const client = await joined(await server.command.url());
	await client.sh('ended', 'echo out; echo err >&2; exit 4');
	await client.done('ended');
	await client.sh('limited', 'sleep 1000', {timeoutMs: 3_600_000});
	const before = (await listed(client, 'limited'))!;
	await server.upgrade();
	const again = await joined(await server.command.url(), client.sessionId);
	const after = (await listed(again, 'limited'))!;
	expect(after).toMatchObject({pid: before.pid, startedAtMs: before.startedAtMs, state: 'running'});
	expect(after.ageMs).toBeGreaterThanOrEqual(before.ageMs);
	const page = await again.call('process/read', {processId: 'ended', afterSeq: 0, waitMs: 0});
	expect(page).toMatchObject({exited: true, exitCode: 4, closed: true, nextSeq: 5});
	expect(page['chunks']).toHaveLength(2);
	await expect(again.sh('ended', 'true')).rejects.toThrow('already exists');
	await again.call('process/terminate', {processId: 'limited'});
	expect(await again.event('limited', 'process/exited')).toMatchObject({reason: 'terminated', exitCode: 137});
});

test('a time limit goes on where it was', async () => {
	const server = new UpgradableServer();
	const client = await server.client();
	const handle = await startScript(client, 'p', 'exec sleep 1000', {timeoutMs: 1500});
	await server.upgrade();
	expect(await handle.exited).toMatchObject({exitCode: 143});
});

test.each([false, true])(
	'a process in a sandbox hears signals after an upgrade (terminal: %s)',
	needsSandbox(),
	async tty => {
		const server = new UpgradableServer();
		const client = await joined(await server.command.url());
		const script = `trap 'echo one' INT; trap 'echo two; exit 6' TERM; echo ready; while :; do sleep 0.05; done`;
		const sandbox = workspacePolicy(scratchDirectory());
		await client.sh('p', script, {tty, sandbox});
		await client.shows('p', 'ready');
		await server.upgrade();
		const again = await joined(await server.command.url(), client.sessionId);
		await again.call('process/signal', {processId: 'p', signal: 'interrupt'});
		await again.shows('p', 'one');
		await again.call('process/terminate', {processId: 'p', mode: {graceful: {timeoutMs: 10_000}}});
		expect((await again.done('p')).exitCode).toBe(6);
	},
);

describe('the listener', () => {
	test('stays where it is when the settings file names another address by then', async () => {
		const config = join(scratchDirectory(), 'settings.toml');
		writeFileSync(config, 'listen = "ws://127.0.0.1:0"\n');
		const server = new UpgradableServer(['--config', config]);
		const client = await server.client();
		writeFileSync(config, `listen = "unix:${join(scratchDirectory(), 's.sock')}"\n`);
		for (let count = 0; count < 2; count++) await server.upgrade();
		expect(await client.repeat('environment/status', {})).toEqual({status: 'ready'});
	});

	test('on a socket in the file system stays, and its file goes with the last program', async () => {
		const path = join(scratchDirectory(), 's.sock');
		const server = new UpgradableServer(['--listen', `unix:${path}`]);
		const client = await server.client();
		const handle = await startScript(client, 'p', 'read line; echo "$line"; exit 3', {io: {pipe: {stdin: 'open'}}});
		for (let count = 0; count < 2; count++) await server.upgrade();
		expect(existsSync(path)).toBe(true);
		await handle.write('hello\n');
		expect(await collect(handle)).toEqual({text: 'hello\n', ends: WHOLE, exitCode: 3});
		server.command.child.kill('SIGTERM');
		expect(await server.command.ended).toEqual({code: 0, signal: null});
		expect(existsSync(path)).toBe(false);
	});

	test('with TLS stays', needs('openssl'), async () => {
		const authority = new Authority();
		const {certPath, keyPath} = authority.issue();
		const tls = ['--tls-cert', certPath, '--tls-key', keyPath];
		const server = new UpgradableServer(['--listen', 'wss://127.0.0.1:0', ...tls]);
		const client = await server.client({}, {ca: authority.ca});
		const handle = await startScript(client, 'p', 'read line; echo "$line"', {tty: true});
		for (let count = 0; count < 2; count++) await server.upgrade();
		await handle.write('hello\n');
		expect((await collect(handle)).text).toContain('hello');
	});

	test('never refuses a connection', async () => {
		const server = new UpgradableServer();
		const url = (await server.command.url()).replace('ws:', 'http:');
		const over = new AbortController();
		const refused: unknown[] = [];
		const knocking = (async () => {
			while (!over.signal.aborted) {
				try {
					await fetch(`${url}/readyz`, {headers: {connection: 'close'}});
				} catch (error) {
					const {cause} = error as {cause?: {code?: string}};
					if (cause?.code === 'ECONNREFUSED') refused.push(cause);
				}
			}
		})();
		for (let count = 0; count < 3; count++) await server.upgrade();
		over.abort();
		await knocking;
		expect(refused).toEqual([]);
	});
});

const SERVERS = [
	['as this user', {}, undefined],
	['without privileges', {via: UNPRIVILEGED, env: {HOME: '/'}}, noUnprivilegedServer()],
] as const;

describe.each(SERVERS)('a server %s', (_, options, why) => {
	test(
		'has a watchdog that notices no upgrade, and ends everything when the server is killed',
		unless(why),
		async () => {
			const server = new UpgradableServer([], options);
			const client = await joined(await server.command.url());
			await client.sh('family', FAMILY);
			await client.sh('daemon', DAEMON);
			const pids = [...(await toldPids(client, 'family', FAMILY_SIZE)), ...(await toldPids(client, 'daemon', 1))];
			const watchdog = await findWatchdog(server.command.pid);
			for (let count = 0; count < 3; count++) await server.upgrade();
			expect(await findWatchdog(server.command.pid)).toBe(watchdog);
			const again = await joined(await server.command.url(), client.sessionId);
			await again.sh('new', 'echo $$; exec sleep 1000');
			pids.push(...(await toldPids(again, 'new', 1)));
			expect(pids.every(isAlive)).toBe(true);
			server.command.child.kill('SIGKILL');
			await untilDead(...pids, watchdog);
		},
	);
});

test('an upgraded server ends everything that earlier ones have started', async () => {
	const server = new UpgradableServer(['--shutdown-grace', '10ms']);
	const client = await joined(await server.command.url());
	await client.sh('family', FAMILY);
	await client.sh('daemon', DAEMON);
	const pids = [...(await toldPids(client, 'family', FAMILY_SIZE)), ...(await toldPids(client, 'daemon', 1))];
	await server.upgrade();
	server.command.child.kill('SIGTERM');
	expect(await server.command.ended).toEqual({code: 0, signal: null});
	await untilDead(...pids);
});

test('processes of the first protocol end with their connection', async () => {
	const server = new UpgradableServer();
	const client = await joined(await server.command.url());
	const env = {PATH: process.env['PATH']};
	const argv = ['/bin/sh', '-c', 'trap "" HUP TERM; sleep 1000 & echo $$ $! > pids; wait'];
	const cwd = scratchDirectory();
	await client.call('command/exec', {argv, cwd, env, tty: false});
	await client.sh('kept', `until [ -s ${cwd}/pids ]; do sleep 0.02; done; cat ${cwd}/pids; exec sleep 1000`);
	const pids = await toldPids(client, 'kept', 2);
	await server.upgrade();
	await untilDead(...pids);
	const again = await joined(await server.command.url(), client.sessionId);
	expect((await listed(again, 'kept'))?.state).toBe('running');
});

test(
	'the capture of a shell snapshot ends with an upgrade, and its session takes another one',
	needs('bash'),
	async () => {
		const home = scratchDirectory();
		const pid = join(home, 'pid');
		writeFileSync(
			join(home, '.profile'),
			`[ -e ${pid} ] || { echo $$ > ${pid}.new; mv ${pid}.new ${pid}; sleep 1000; }`,
		);
		const server = new UpgradableServer([], {env: {HOME: home}});
		const client = await server.client();
		const shellSnapshot = {scopeId: 'scope', shell: {name: 'bash', path: '/bin/bash'}};
		const start = (processId: string) =>
			startScript(client, processId, '', {argv: ['/bin/bash', '-lc', 'echo done'], env: {HOME: home}, shellSnapshot});
		start('lost').catch(() => {});
		await eventually(() => existsSync(pid));
		const capture = Number(readFileSync(pid, 'utf8'));
		await server.upgrade();
		await untilDead(capture);
		expect(await collect(await start('next'))).toMatchObject({text: 'done\n', exitCode: 0});
	},
);
