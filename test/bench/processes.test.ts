import {type ChildProcess, spawn, spawnSync} from 'node:child_process';
import {once} from 'node:events';
import {existsSync} from 'node:fs';
import {type AddressInfo, createServer} from 'node:net';
import {describe, expect, onTestFinished, test} from 'vitest';
import {unless} from '../helpers/needs.js';

interface Proc {
	readonly usageOf: (pid: number) => {rss: number; fds: number; children: number};
	readonly rssOf: (pid: number) => number;
	readonly cpuSecondsOf: (pid: number) => number;
	readonly descriptorsOf: (pid: number) => number;
	readonly treeOf: (pid: number) => number[];
	readonly commandOf: (pid: number) => string;
	readonly describeProcess: (pid: number) => string;
}

interface ProcessSearch {
	readonly livingWith: (text: string) => {pid: number; command: string}[];
	readonly pidsWithEnvironment: (text: string) => number[];
	readonly listenerOf: (url: string) => number | undefined;
}

interface PrintedAddress {
	readonly printedAddress: (child: ChildProcess, options?: {name?: string; scheme?: string}) => Promise<string>;
}

interface Measure {
	readonly watchMemory: (pids: () => Record<string, number>) => {stop(): Record<string, Record<string, number>>};
}

const LIB = new URL('../../bench/lib/', import.meta.url);
const proc = (await import(new URL('proc.mjs', LIB).href)) as Proc;
const search = (await import(new URL('process-search.mjs', LIB).href)) as ProcessSearch;
const {printedAddress} = (await import(new URL('printed-address.mjs', LIB).href)) as PrintedAddress;
const {watchMemory} = (await import(new URL('measure.mjs', LIB).href)) as Measure;

/** A shell that runs a script, with the variable TOKEN; its process group ends with the test. */
function shell(script: string, token = ''): ChildProcess & {pid: number} {
	const child = spawn('/bin/sh', ['-c', script], {
		stdio: ['pipe', 'pipe', 'pipe'],
		detached: true,
		env: {...process.env, TOKEN: token},
	});
	const {pid} = child as {pid: number};
	onTestFinished(() => {
		if (child.exitCode === null) process.kill(-pid, 'SIGKILL');
	});
	return Object.assign(child, {pid});
}

describe('processes through /proc', unless(existsSync('/proc/self/stat') ? undefined : 'there is no /proc'), () => {
	test('resources, command and tree of a living process are known', async () => {
		const child = shell('sleep 1000 & echo ready; wait');
		await once(child.stdout!, 'data');
		const {rss, fds, children} = proc.usageOf(child.pid);
		expect([rss, fds, children]).toEqual([proc.rssOf(child.pid), proc.descriptorsOf(child.pid), 1]);
		expect(fds).toBeGreaterThanOrEqual(3);
		expect(proc.commandOf(child.pid)).toBe('/bin/sh -c sleep 1000 & echo ready; wait');
		expect(proc.treeOf(child.pid)).toHaveLength(2);
		expect(proc.cpuSecondsOf(process.pid)).toBeGreaterThan(0);
	});

	test('a process that is gone has nothing, and no usage at all', () => {
		const {pid} = spawnSync('true');
		expect([proc.rssOf(pid), proc.cpuSecondsOf(pid), proc.descriptorsOf(pid)]).toEqual([0, 0, 0]);
		expect(proc.describeProcess(pid)).toBe(`${pid} gone`);
		expect(() => proc.usageOf(pid)).toThrow(`process ${pid} is gone`);
	});

	test('processes are found by argument, variable and listening port', async () => {
		const token = `token-${process.pid}-${Date.now()}`;
		const child = shell(`echo ready; read line # ${token}`, `variable-${token}`);
		await once(child.stdout!, 'data');
		expect(search.livingWith(token).map(({pid}) => pid)).toEqual([child.pid]);
		expect(search.pidsWithEnvironment(`variable-${token}`)).toEqual([child.pid]);
		const server = createServer().listen(0, '127.0.0.1');
		onTestFinished(() => void server.close());
		await once(server, 'listening');
		const {port} = server.address() as AddressInfo;
		expect(search.listenerOf(`ws://127.0.0.1:${port}`)).toBe(process.pid);
	});

	test('the most memory of processes is remembered', () => {
		const memory = watchMemory(() => ({self: process.pid}));
		const {before, most} = memory.stop();
		expect(before!['self']).toBeGreaterThan(0);
		expect(most!['self']).toBeGreaterThanOrEqual(before!['self']!);
	});
});

test.each(['', '>&2'])('an address is found in what a child prints %s', async to => {
	const child = shell(`{ echo "listening on 'ws://127.0.0.1:1'"; } ${to}; read line`);
	expect(await printedAddress(child)).toBe('ws://127.0.0.1:1');
});

test('a child that ends without an address is an error with its stderr', async () => {
	const child = shell('echo http://x/; echo no port >&2; exit 3');
	await expect(printedAddress(child, {name: 'it'})).rejects.toThrow('it exited at start (3)');
	const other = shell('echo http://x/; read line');
	expect(await printedAddress(other, {scheme: 'http'})).toBe('http://x/');
});
