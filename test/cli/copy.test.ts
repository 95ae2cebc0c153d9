import {
	chmodSync,
	existsSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	statSync,
	symlinkSync,
	writeFileSync,
} from 'node:fs';
import {join} from 'node:path';
import {describe, expect, onTestFinished, test} from 'vitest';
import {PROGRAM, run as runCommand} from '../helpers/command.js';
import {describeTree, makeOddTree} from '../helpers/file-trees.js';
import {unless} from '../helpers/needs.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {serving} from '../helpers/serving.js';

const COMMAND = `cmd:'${process.execPath}' '${PROGRAM}' serve --listen stdio --log-level error`;

interface Summary {
	readonly files: number;
	readonly bytes: number;
	readonly skipped: number;
	readonly failed: number;
	readonly checked: string;
}

function workspace() {
	const root = scratchDirectory();
	// What may not be written to cannot be removed by everybody.
	onTestFinished(() => {
		for (const name of readdirSync(root, {recursive: true, encoding: 'utf8'})) {
			if (name.endsWith('closed')) chmodSync(join(root, name), 0o755);
		}
	});
	return (...names: string[]) => join(root, ...names);
}

async function copied(args: readonly string[]): Promise<Summary> {
	const {code, stdout, stderr} = await runCommand([...args, '--json']);
	expect([code, stderr]).toEqual([0, '']);
	return JSON.parse(stdout) as Summary;
}

describe.each<[string, (from: string, to: string) => Promise<string[]>]>([
	['to a server', async (from, to) => ['cp', '-r', from, `${(await serving()).url}:${to}`]],
	['from a server', async (from, to) => ['cp', '-r', `${(await serving()).url}:${from}`, to]],
	[
		'between two servers',
		async (from, to) => ['cp', '-r', `${(await serving()).url}:${from}`, `${(await serving()).url}:${to}`],
	],
	['within a server', async (from, to) => ['cp', '-r', '-e', (await serving()).url, `:${from}`, `:${to}`]],
	['on this machine', async (from, to) => ['cp', '-r', from, to]],
	['to a command', async (from, to) => ['put', '-r', '-e', COMMAND, from, to]],
	['from a command', async (from, to) => ['get', '-r', '-e', COMMAND, from, to]],
])('a copy %s', (_, commandFor) => {
	test('has the same names, links, modes, times and contents', async () => {
		const at = workspace();
		makeOddTree(at('from'));
		writeFileSync(at('from', 'large'), Buffer.alloc(9_000_000, 'large'));
		const args = await commandFor(at('from'), at('to'));
		expect(await copied(args)).toMatchObject({files: 10, skipped: 0, failed: 0, checked: 'checksum'});
		expect(describeTree(at('to'))).toEqual(describeTree(at('from')));
	});
});

test('what is there already is skipped, what is different is replaced, and what is besides stays', async () => {
	const at = workspace();
	const {url} = await serving();
	makeOddTree(at('from'));
	await copied(['cp', '-r', at('from'), `${url}:${at('to')}`]);
	writeFileSync(at('from', 'sub', 'run'), 'changed');
	writeFileSync(at('to', 'nothing'), 'no longer nothing');
	writeFileSync(at('to', 'other'), 'stays');
	const again = ['cp', '-r', `${at('from')}/.`, `${url}:${at('to')}`];
	expect(await copied(again)).toMatchObject({files: 2, skipped: 7});
	expect(await copied(again)).toMatchObject({files: 0, bytes: 0, skipped: 9});
	const others = describeTree(at('to')).filter(line => !line.startsWith('other '));
	expect([others, readFileSync(at('to', 'other'), 'utf8')]).toEqual([describeTree(at('from')), 'stays']);
});

test('a file goes into a directory that is there, or gets the name of the target', async () => {
	const at = workspace();
	const {url} = await serving();
	mkdirSync(at('dir'));
	writeFileSync(at('a'), 'content');
	chmodSync(at('a'), 0o640);
	await copied(['cp', at('a'), `${url}:${at('dir')}`]);
	await copied(['cp', at('a'), `${url}:${at('b')}`]);
	expect([readFileSync(at('dir', 'a'), 'utf8'), readFileSync(at('b'), 'utf8')]).toEqual(['content', 'content']);
	expect([statSync(at('b')).mode & 0o777, Math.floor(statSync(at('b')).mtimeMs)]).toEqual([
		0o640,
		Math.floor(statSync(at('a')).mtimeMs),
	]);
	expect(readdirSync(at())).toEqual(['a', 'b', 'dir']);
});

test('a file is written where a link leads, and the link stays', async () => {
	const at = workspace();
	writeFileSync(at('old'), 'old');
	writeFileSync(at('new'), 'newer');
	symlinkSync('old', at('link'));
	await copied(['cp', at('new'), `${(await serving()).url}:${at('link')}`]);
	expect([readFileSync(at('old'), 'utf8'), statSync(at('link')).size]).toEqual(['newer', 5]);
});

test('with --no-clobber what is there stays', async () => {
	const at = workspace();
	const {url} = await serving();
	mkdirSync(at('dir'));
	for (const name of ['a', 'b']) writeFileSync(at(name), 'new');
	writeFileSync(at('dir', 'a'), 'old');
	expect(await copied(['cp', '-n', at('a'), at('b'), `${url}:${at('dir')}`])).toMatchObject({files: 1, skipped: 1});
	expect([readFileSync(at('dir', 'a'), 'utf8'), readFileSync(at('dir', 'b'), 'utf8')]).toEqual(['old', 'new']);
});

test('put and get take relative paths of the environment, and its directory where none is given', async () => {
	const at = workspace();
	mkdirSync(at('there', 'sub'), {recursive: true});
	mkdirSync(at('here'));
	writeFileSync(at('here', 'a:b'), 'x');
	const environment = `cmd:cd '${at('there')}' && ${COMMAND.slice('cmd:'.length)}`;
	await copied(['put', '-e', environment, at('here', 'a:b')]);
	await copied(['put', '-e', environment, at('here', 'a:b'), 'sub/c:d']);
	await copied(['get', '-e', environment, 'a:b', 'sub/c:d', at('here')]);
	expect([readdirSync(at('there')), readdirSync(at('here'))]).toEqual([
		['a:b', 'sub'],
		['a:b', 'c:d'],
	]);
});

describe('a source whose name only the server knows', () => {
	test.each(['~', '~/', '', '..', '../', 'here/..'])('is not copied into a directory: %j', async path => {
		const at = workspace();
		for (const name of ['there/here', 'to']) mkdirSync(at(name), {recursive: true});
		const environment = `cmd:cd '${at('there')}' && HOME='${at('there')}' ${COMMAND.slice('cmd:'.length)}`;
		const {code, stderr} = await runCommand(['cp', '-r', '-e', environment, `:${path}`, at('to')]);
		expect([code, stderr]).toEqual([1, expect.stringContaining('one that the server chooses') as string]);
		expect(readdirSync(at('to'))).toEqual([]);
	});

	test.each(['~/.', '.', '../there'])('is copied by its content, or by a name: %j', async path => {
		const at = workspace();
		for (const name of ['there/here', 'to']) mkdirSync(at(name), {recursive: true});
		const environment = `cmd:cd '${at('there')}' && HOME='${at('there')}' ${COMMAND.slice('cmd:'.length)}`;
		await copied(['cp', '-r', '-e', environment, `:${path}`, at('to')]);
		expect(readdirSync(at('to'))).toEqual([path === '../there' ? 'there' : 'here']);
	});
});

describe('what cannot be copied', () => {
	test('is told in a line each, and everything else is copied', async () => {
		const at = workspace();
		const {url} = await serving();
		mkdirSync(at('from', 'sub'), {recursive: true});
		for (const name of ['a', 'b', 'sub/c', 'sub/d']) writeFileSync(at('from', name), name);
		mkdirSync(at('to', 'b'), {recursive: true});
		writeFileSync(at('to', 'sub'), 'in the way');
		const {code, stderr} = await runCommand(['cp', '-r', at('missing'), `${at('from')}/.`, `${url}:${at('to')}`]);
		expect([code, stderr.split('\n')]).toEqual([
			1,
			[
				`error: ${at('missing')}: No such file or directory`,
				`error: ${url}:${at('to', 'b')}: a directory is in the way of a file`,
				`error: ${url}:${at('to', 'sub')}: something that is no directory is in the way of a directory`,
				'',
			],
		]);
		expect([readFileSync(at('to', 'a'), 'utf8'), readFileSync(at('to', 'sub'), 'utf8')]).toEqual(['a', 'in the way']);
	});

	test('in the middle of a stream does not keep the rest out', async () => {
		const at = workspace();
		const {url} = await serving();
		mkdirSync(at('from'));
		const tooLong = 'n'.repeat(255);
		// The name is taken by a directory of the unfinished form: making the file fails when it is unpacked.
		for (const name of ['a', 'b', 'c', tooLong]) writeFileSync(at('from', name), name.repeat(1000));
		mkdirSync(at('to', 'b.longarm-part'), {recursive: true});
		const {code, stderr} = await runCommand(['cp', '-r', `${at('from')}/.`, `${url}:${at('to')}`]);
		expect(code).toBe(1);
		expect(stderr).toMatch(new RegExp(`^error: ${url}:${at('to', 'b')}: [^\n]*\n$`));
		expect(readdirSync(at('to'))).toEqual(['a', 'b.longarm-part', 'c', tooLong]);
	});

	test.each<[string, (at: ReturnType<typeof workspace>, url: string) => string[], number, RegExp]>([
		['a directory without -r', (at, url) => ['cp', at('dir'), `${url}:${at('new')}`], 1, /is a directory; -r/],
		['a file onto itself', at => ['cp', at('a'), at('a')], 1, /source and target are the same/],
		[
			'a file onto itself by way of a server',
			(at, url) => ['cp', at('a'), `${url}:${at('dir', 'link')}`],
			1,
			/are the same/,
		],
		[
			'a directory into itself',
			(at, url) => ['cp', '-r', `${url}:${at('dir')}`, `${url}:${at('dir', 'in')}`],
			1,
			/into itself/,
		],
		[
			'a directory into itself by way of a server',
			(at, url) => ['cp', '-r', at('dir'), `${url}:${at('dir')}`],
			1,
			/into itself/,
		],
		[
			'several sources to something that is no directory',
			(at, url) => ['cp', at('a'), at('b'), `${url}:${at('new')}`],
			2,
			/not a directory/,
		],
		[
			'something into a directory that is not there',
			(at, url) => ['cp', at('a'), `${url}:${at('no', 'b')}`],
			2,
			/there is no directory/,
		],
		[
			'a file to a name with a slash that is no directory',
			(at, url) => ['cp', at('a'), `${url}:${at('b')}/`],
			2,
			/not a directory/,
		],
		[
			'a file to a name with a slash that does not exist',
			(at, url) => ['cp', at('a'), `${url}:${at('missing')}/`],
			2,
			/not a directory/,
		],
		[
			'a path of an environment that was not given',
			at => ['cp', at('a'), ':b'],
			2,
			/where `b` is has to be said, with -e ENV/,
		],
		['to an environment nobody knows', at => ['cp', at('a'), 'no-such:b'], 2, /unknown environment `no-such`/],
		['without a target', at => ['cp', at('a')], 2, /a source and a target/],
		['to no environment', at => ['put', at('a')], 2, /the environment has to be said, with -e ENV or as ENV:PATH/],
		[
			'from no environment',
			at => ['get', at('a'), '.'],
			2,
			/where `.*a` is has to be said, with -e ENV or as ENV:PATH/,
		],
	])('%s is refused, and nothing is done', async (_, commandFor, expected, why) => {
		const at = workspace();
		mkdirSync(at('dir'));
		for (const name of ['a', 'b']) writeFileSync(at(name), name);
		symlinkSync('../a', at('dir', 'link'));
		const before = describeTree(at());
		const {code, stdout, stderr} = await runCommand(commandFor(at, (await serving()).url));
		expect([code, stdout]).toEqual([expected, '']);
		expect(stderr).toMatch(why);
		expect(stderr).toMatch(/^error: [^\n]*\n(?:hint: [^\n]*\n)?$/);
		expect(describeTree(at())).toEqual(before);
	});

	test('from a server that is not there is one clear line and a hint', async () => {
		const at = workspace();
		const {code, stderr} = await runCommand(['cp', 'ws://127.0.0.1:1:/etc/hostname', at('x')]);
		expect(code).toBe(1);
		expect(stderr).toMatch(/^error: [^\n]*127\.0\.0\.1:1[^\n]*\nhint: [^\n]*\n$/);
	});
});

describe(
	'the stock codex server',
	unless(process.env['CODEX_BIN'] ? undefined : 'CODEX_BIN names no stock codex'),
	() => {
		test('gets and gives files, checked by reading them back', async () => {
			const at = workspace();
			const environment = `cmd:CODEX_HOME='${at('home')}' '${process.env['CODEX_BIN']}' exec-server --listen stdio`;
			mkdirSync(at('home'));
			mkdirSync(at('from', 'sub'), {recursive: true});
			writeFileSync(at('from', 'sub', 'a'), Buffer.alloc(3_000_000, 'abc'));
			for (const [command, from, to] of [
				['put', 'from', 'there'],
				['get', 'there', 'back'],
			] as const) {
				const {code, stdout, stderr} = await runCommand([command, '--json', '-r', '-e', environment, at(from), at(to)]);
				expect([code, JSON.parse(stdout)]).toMatchObject([0, {files: 1, bytes: 3_000_000, checked: 'read-back'}]);
				expect(stderr).toContain('cannot resume copies');
				expect(readFileSync(at(to, 'sub', 'a')).equals(readFileSync(at('from', 'sub', 'a')))).toBe(true);
			}
			expect(existsSync(at('back', 'sub', 'a.longarm-part'))).toBe(false);
			expect((await runCommand(['ls', '-l', '-e', environment, `:${at('from')}`])).stdout).toMatch(/^d.* sub\/\n$/);
		});
	},
);
