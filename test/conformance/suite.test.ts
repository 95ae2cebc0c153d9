import {spawnSync} from 'node:child_process';
import {readFileSync} from 'node:fs';
import {fileURLToPath} from 'node:url';
import {expect, test} from 'vitest';

const suite = fileURLToPath(new URL('run.mjs', import.meta.url));
const ours = fileURLToPath(new URL('../../scripts/conformance.mjs', import.meta.url));

test('the README counts the tests of every profile and group', () => {
	const readme = readFileSync(new URL('README.md', import.meta.url), 'utf8');
	const rows = [...readme.matchAll(/^\| `([\w-]+)` \| (\d+) \|/gm)].map(([, name, count]) => `${name} ${count}`);
	const names = listed(['--profile', 'core,current,v0,design']).flatMap(line => {
		const [, profile, group] = /^\[(\w+)\] ([\w-]+): /.exec(line) ?? [];
		return [`profile ${profile}`, `group ${group}`];
	});
	const counts = [...new Set(names)].map(name => [name.split(' ')[1], names.filter(each => each === name).length]);
	expect(rows.sort()).toEqual(counts.map(([name, count]) => `${name} ${count}`).sort());
});

test.each([[['--only', 'pipe']], [['--only=pipe']]])('npm run conformance hands on %j', args => {
	const {stdout, status} = run(ours, [...args, '--list']);
	const groups = new Set([...stdout.matchAll(/^\[\w+\] ([\w-]+): /gm)].map(([, group]) => group));
	expect({groups: [...groups], status}).toEqual({groups: ['pipe'], status: 0});
});

test.each([
	[['pipe'], "Unexpected argument 'pipe'"],
	[['--onyl', 'pipe'], "Unknown option '--onyl'"],
	[['--only', 'pipes'], 'unknown group pipes'],
	[['--profile', 'v1'], 'unknown profile v1'],
	[['--only', 'v0', '--grep', 'no such test'], 'no test matches'],
	[['--jobs', 'many'], '--jobs must be a number'],
	[['--retention', 'long'], '--retention must be a number'],
])('the arguments %j are a mistake for the suite and for npm run conformance', (args, message) => {
	for (const script of [suite, ours]) {
		const {stderr, status} = run(script, args);
		expect(stderr).toContain(message);
		expect(status).toBe(2);
	}
});

function listed(args: readonly string[]): string[] {
	return run(suite, [...args, '--list'])
		.stdout.trim()
		.split('\n');
}

function run(script: string, args: readonly string[]) {
	return spawnSync(process.execPath, [script, ...args], {encoding: 'utf8'});
}
