import {spawnSync} from 'node:child_process';
import {expect, test} from 'vitest';

const MODULE = new URL('../../bench/lib/options.mjs', import.meta.url).href;
const PROGRAM = `
import {readOptions} from ${JSON.stringify(MODULE)};
const options = readOptions('Tries things.', {
	maxRounds: {default: 200, help: 'rounds to play'},
	name: {default: 'x', choices: ['x', 'y'], help: 'a name'},
	only: {type: 'number', help: 'one round'},
	json: {default: false, help: 'as JSON'},
});
console.log(JSON.stringify(options));
`;

function run(...args: string[]): {status: number | null; stdout: string; stderr: string} {
	const {status, stdout, stderr} = spawnSync(
		process.execPath,
		['--input-type=module', '--eval', PROGRAM, '--', ...args],
		{encoding: 'utf8'},
	);
	return {status, stdout, stderr};
}

test('options have the type of their default, or the one they name', () => {
	expect(JSON.parse(run().stdout)).toEqual({maxRounds: 200, name: 'x', json: false});
	const {stdout} = run('--max-rounds', '5', '--name=y', '--only', '3', '--json');
	expect(JSON.parse(stdout)).toEqual({maxRounds: 5, name: 'y', only: 3, json: true});
});

test('the help lists every option', () => {
	const {status, stdout} = run('--help');
	expect(status).toBe(0);
	expect(stdout.split('\n').map(line => line.replaceAll(/ {2,}/g, '  '))).toEqual([
		'Tries things.',
		'',
		'  --max-rounds N  rounds to play (200)',
		'  --name x|y  a name (x)',
		'  --only N  one round',
		'  --json  as JSON',
		'',
	]);
});

test.each([
	[['--max-rounds', 'many'], 'error: --max-rounds: expected a number, got many; see --help\n'],
	[['--name', 'z'], 'error: --name: expected x, y, got z; see --help\n'],
])('misuse ends the program: %s', (args, message) => {
	expect(run(...args)).toMatchObject({status: 2, stderr: message});
});
