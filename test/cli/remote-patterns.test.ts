import {mkdirSync, readdirSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {describe, expect, test} from 'vitest';
import {run} from '../helpers/command.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {serving} from '../helpers/serving.js';

async function working() {
	const root = scratchDirectory();
	for (const directory of ['one', 'two', 'copies']) mkdirSync(join(root, directory));
	for (const name of ['a.log', 'b.log', '.hidden.log', 'c.txt', 'one/x.log', 'two/y.log', 'two/z*.log', 'two/zz.log'])
		writeFileSync(join(root, name), `${name}\n`);
	const {url} = await serving();
	return {root, url, at: (path: string) => `${url}:${root}/${path}`};
}

describe('a pattern of another machine', () => {
	test('is expanded there, with names in order and without hidden ones', async () => {
		const {root, at} = await working();
		const listed = async (pattern: string, ...options: string[]) =>
			(await run(['ls', ...options, at(pattern)])).stdout.replaceAll(`${root}/`, '');
		expect(await listed('*.log')).toBe('a.log\nb.log\n');
		expect(await listed('[ac].???')).toBe('a.log\nc.txt\n');
		expect(await listed('.*.log')).toBe('.hidden.log\n');
		expect(await listed('*/[x-y].log')).toBe('one/x.log\ntwo/y.log\n');
		expect(await listed('*/x.log')).toBe('one/x.log\n');
		expect((await run(['cat', at('?.log')])).stdout).toBe('a.log\nb.log\n');
		const names = JSON.parse(await listed('*.log', '--json')) as {name: string}[];
		expect(names.map(({name}) => name)).toEqual(['a.log', 'b.log']);
		const directories = await listed('???');
		expect(directories).toMatch(/^\S+:one:\nx\.log\n\n\S+:two:\ny\.log\nz\*\.log\nzz\.log\n$/);
	});

	test('is a path first, and an error if nothing matches', async () => {
		const {root, at} = await working();
		expect((await run(['cat', at('two/z*.log')])).stdout).toBe('two/z*.log\n');
		const none = await run(['cat', at('no*such')]);
		expect(none).toMatchObject({code: 1, stdout: '', stderr: expect.stringContaining('No such file') as string});
		// Of this machine it is up to the shell.
		expect((await run(['cat', `${root}/*.log`])).stderr).toContain('No such file');
	});

	test('is a source of copies', async () => {
		const {root, at} = await working();
		const target = `${root}/copies/`;
		expect(await run(['cp', at('?.log'), at('two/y*'), target])).toMatchObject({code: 0, stderr: ''});
		expect(readdirSync(target).sort()).toEqual(['a.log', 'b.log', 'y.log']);
		const several = await run(['cp', at('?.log'), `${root}/copies/file`]);
		expect([several.code, several.stderr]).toEqual([2, expect.stringContaining('there are several sources')]);
	});
});

test('a file that is asked for by its name is listed, with a dot in front as well', async () => {
	const {root, at} = await working();
	for (const address of [at('.hidden.log'), `${root}/.hidden.log`])
		expect((await run(['ls', address])).stdout).toBe('.hidden.log\n');
});
