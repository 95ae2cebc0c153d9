import {randomBytes} from 'node:crypto';
import {existsSync, mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {describe, expect, test} from 'vitest';
import {Command, run as runCommand} from '../helpers/command.js';
import {cutProxy, cuttingProxy} from '../helpers/cut-proxy.js';
import {describeTree} from '../helpers/file-trees.js';
import {eventually} from '../helpers/processes.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {serving} from '../helpers/serving.js';

const MiB = 1024 * 1024;
const LARGE_BYTES = 24 * MiB;
const SMALL_FILES = 200;
const SMALL_BYTES = 64 * 1024;
const GONE_ON = 'note: the connection was lost (exec-server transport closed); going on where it stopped\n';

interface Summary {
	readonly files: number;
	readonly bytes: number;
	readonly skipped: number;
	readonly resumedBytes: number;
}

/** A server, a large file and a tree of small ones to be copied to or from it. */
async function working() {
	const root = scratchDirectory();
	const at = (...names: string[]) => join(root, ...names);
	mkdirSync(at('tree', 'sub'), {recursive: true});
	mkdirSync(at('target'));
	writeFileSync(at('large'), randomBytes(LARGE_BYTES));
	for (let index = 0; index < SMALL_FILES; index++)
		writeFileSync(at('tree', 'sub', `f${index}`), randomBytes(SMALL_BYTES));
	return {at, url: (await serving()).url};
}

/** The same copy by any address of the server. */
type CopyBy = (url: string, source: string, target: string) => string[];
const DIRECTIONS: [string, 'up' | 'down', CopyBy][] = [
	['to a server', 'up', (url, source, target) => ['cp', '-r', '--json', source, `${url}:${target}`]],
	['from a server', 'down', (url, source, target) => ['cp', '-r', '--json', `${url}:${source}`, target]],
];

async function finished(args: string[]): Promise<Summary> {
	const {code, stdout, stderr} = await runCommand(args);
	expect([code, stderr]).toEqual([0, '']);
	return JSON.parse(stdout) as Summary;
}

/** The bytes that have arrived are written a little later. */
function countFiles(directory: string): number {
	return readdirSync(directory, {recursive: true, withFileTypes: true}).filter(entry => entry.isFile()).length;
}

describe.each(DIRECTIONS)('a copy %s', (_, direction, copyBy) => {
	test('of a large file that was killed goes on where it stopped', async () => {
		const {at, url} = await working();
		const proxy = await cutProxy({target: url, afterBytes: 20 * MiB, effect: 'stall', direction});
		const killed = new Command(copyBy(proxy.url, at('large'), at('target')));
		await proxy.reached;
		killed.child.kill('SIGKILL');
		await killed.ended;
		expect(readdirSync(at('target'))).toEqual(['large.longarm-part']);
		expect(statSync(at('target', 'large.longarm-part')).mode & 0o777).toBe(0o600);
		const {files, bytes, resumedBytes} = await finished(copyBy(url, at('large'), at('target')));
		expect([files, bytes + resumedBytes]).toEqual([1, LARGE_BYTES]);
		expect(resumedBytes).toBeGreaterThan(4 * MiB);
		expect(readdirSync(at('target'))).toEqual(['large']);
		expect(readFileSync(at('target', 'large')).equals(readFileSync(at('large')))).toBe(true);
	});

	test('of a tree that was killed sends what is missing only', async () => {
		const {at, url} = await working();
		const proxy = await cutProxy({target: url, afterBytes: 10 * MiB, effect: 'stall', direction});
		const killed = new Command(copyBy(proxy.url, at('tree'), at('target')));
		await proxy.reached;
		await eventually(() => countFiles(at('target')) > 20);
		killed.child.kill('SIGKILL');
		await killed.ended;
		const {files, skipped} = await finished(copyBy(url, at('tree'), at('target')));
		expect([files + skipped, skipped > 10, files > 10]).toEqual([SMALL_FILES, true, true]);
		expect(describeTree(at('target', 'tree'))).toEqual(describeTree(at('tree')));
	});

	test('of a tree to a new name that was killed goes on under that name', async () => {
		const {at, url} = await working();
		const proxy = await cutProxy({target: url, afterBytes: 10 * MiB, effect: 'stall', direction});
		const killed = new Command(copyBy(proxy.url, at('tree'), at('target', 'new')));
		await proxy.reached;
		await eventually(() => countFiles(at('target')) > 20);
		killed.child.kill('SIGKILL');
		await killed.ended;
		expect(readdirSync(at('target'))).toEqual(['new', 'new.longarm-part']);
		proxy.release();
		const {files, skipped} = await finished(copyBy(proxy.url, at('tree'), at('target', 'new')));
		expect([files + skipped, skipped > 10, files > 10]).toEqual([SMALL_FILES, true, true]);
		expect(readdirSync(at('target'))).toEqual(['new']);
		expect(describeTree(at('target', 'new'))).toEqual(describeTree(at('tree')));
	});

	test('of a large file survives a connection that is lost and returns', async () => {
		const {at, url} = await working();
		const proxy = await cutProxy({target: url, afterBytes: 10 * MiB, effect: 'cut', direction});
		const {code, stdout, stderr} = await runCommand(copyBy(proxy.url, at('large'), at('target')));
		expect([code, stderr]).toEqual([0, GONE_ON]);
		const {files, skipped, bytes, resumedBytes} = JSON.parse(stdout) as Summary;
		expect([files, skipped]).toEqual([1, 0]);
		// What was on its way when the line was cut travels again, and no more than that.
		expect([resumedBytes > MiB, bytes < LARGE_BYTES + 8 * MiB]).toEqual([true, true]);
		expect(readFileSync(at('target', 'large')).equals(readFileSync(at('large')))).toBe(true);
	});

	test('of a tree survives a connection that is lost and returns', async () => {
		const {at, url} = await working();
		const proxy = await cutProxy({target: url, afterBytes: 10 * MiB, effect: 'cut', direction});
		const {code, stdout, stderr} = await runCommand(copyBy(proxy.url, at('tree'), at('target')));
		expect([code, stderr]).toEqual([0, GONE_ON]);
		expect(JSON.parse(stdout)).toMatchObject({files: SMALL_FILES, skipped: 0});
		expect(describeTree(at('target', 'tree'))).toEqual(describeTree(at('tree')));
	});

	test.each([
		['a large file', {large: 12 * MiB}],
		['files below the size of a large one', {a: 3 * MiB, b: 3 * MiB, c: 3 * MiB}],
		['small files', Object.fromEntries(Array.from({length: 500}, (_item, index) => [`f${index}`, 12_000]))],
	])('of %s ends whole over a line that is cut every 1 to 4 MB', async (_kind, sizes) => {
		const {at, url} = await working();
		mkdirSync(at('cut'));
		for (const [name, bytes] of Object.entries(sizes)) writeFileSync(at('cut', name), randomBytes(bytes));
		const proxy = await cuttingProxy(url, [1_000_000, 4_000_000, 1_500_000, 1_000_000]);
		const {code, stdout} = await runCommand(copyBy(proxy.url, at('cut'), at('target')));
		expect([code, JSON.parse(stdout)]).toMatchObject([0, {files: Object.keys(sizes).length, skipped: 0}]);
		expect(proxy.cuts()).toBeGreaterThan(3);
		expect(describeTree(at('target', 'cut'))).toEqual(describeTree(at('cut')));
	});

	test('that is interrupted says how to go on, and leaves no half file under its name', async () => {
		const {at, url} = await working();
		const proxy = await cutProxy({target: url, afterBytes: 10 * MiB, effect: 'stall', direction});
		const command = new Command(copyBy(proxy.url, at('large'), at('target')));
		await proxy.reached;
		command.child.kill('SIGINT');
		expect(await command.ended).toEqual({code: 130, signal: null});
		expect([command.stdout, command.stderr]).toEqual([
			'',
			'interrupted: the same command goes on where this one stopped\n',
		]);
		expect(existsSync(at('target', 'large'))).toBe(false);
	});
});

test('what an unfinished copy left is not trusted: where it differs from the source it is sent again', async () => {
	const {at, url} = await working();
	writeFileSync(at('target', 'large.longarm-part'), Buffer.alloc(5 * MiB));
	expect(await finished(['cp', '--json', at('large'), `${url}:${at('target')}`])).toMatchObject({
		bytes: LARGE_BYTES,
		resumedBytes: 0,
	});
	writeFileSync(at('target', 'small.longarm-part'), Buffer.alloc(5 * MiB));
	writeFileSync(at('small'), 'less than what is there');
	await finished(['cp', '--json', at('small'), `${url}:${at('target')}`]);
	expect(readFileSync(at('target', 'large')).equals(readFileSync(at('large')))).toBe(true);
	expect([readFileSync(at('target', 'small'), 'utf8'), readdirSync(at('target'))]).toEqual([
		'less than what is there',
		['large', 'small'],
	]);
});

test('a file of the same size and another time is sent again', async () => {
	const {at, url} = await working();
	const args = ['cp', '--json', at('large'), `${url}:${at('target')}`];
	await finished(args);
	utimesSync(at('target', 'large'), 1, 1);
	expect(await finished(args)).toMatchObject({files: 1, skipped: 0});
});
