import {mkdirSync, readFileSync, symlinkSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {transform} from 'esbuild';
import {expect, test} from 'vitest';
import {Command} from '../helpers/command.js';
import {needsSandbox} from '../helpers/needs.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {origin} from '../network/origin.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const README = readFileSync(join(ROOT, 'README.md'), 'utf8');
/** The program of an agent builder. */
const PROGRAM_TEXT = README.split('```').find(
	block => block.startsWith('ts\n') && block.includes('Environment.remote'),
)!;

/** Command line in front of a program that makes it start in a directory. */
const startIn = (directory: string): string[] => ['sh', '-c', 'cd "$0" && exec "$@"', directory];

test('the program in the README does what it says on another machine, and ends', needsSandbox(), async () => {
	const project = scratchDirectory();
	mkdirSync(join(project, 'node_modules'));
	symlinkSync(ROOT, join(project, 'node_modules/longarm'));
	writeFileSync(join(project, 'package.json'), JSON.stringify({scripts: {test: 'echo all tests pass'}}));
	const {url: address, seen} = await origin();
	const url = await new Command(['serve', '--log-level', 'silent'], {via: startIn(project)}).url();
	const replaced = {'ws://127.0.0.1:41225': url, '/srv/app': project, 'http://127.0.0.1:8080': address};
	let text = PROGRAM_TEXT.slice('ts\n'.length);
	for (const [shown, used] of Object.entries(replaced)) {
		expect(text).toContain(shown);
		text = text.replaceAll(shown, used);
	}
	const file = join(project, 'program.mjs');
	const {code: program} = await transform(`${text}\nconsole.log(answer.isError, health.status);`, {
		loader: 'ts',
		target: 'node20',
		format: 'esm',
	});
	writeFileSync(file, program);
	const command = new Command([], {program: file, via: startIn(project)});
	expect(await command.ended).toEqual({code: 0, signal: null});
	expect([command.stdout, command.stderr]).toEqual(['false 200\n', '']);
	expect(readFileSync(join(project, 'report.txt'), 'utf8')).toContain('all tests pass\n');
	expect(seen.map(request => request.url)).toEqual(['/health']);
});
