import {writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {build} from 'esbuild';
import {expect, test} from 'vitest';
import {Command} from '../helpers/command.js';
import {scratchDirectory} from '../helpers/scratch.js';

const LIBRARY = fileURLToPath(new URL('../../dist/index.js', import.meta.url));

const PROGRAM = `
import {Environment} from 'longarm';
async function main() {
	await using machine = Environment.local();
	const found = [];
	for await (const {kind, line} of machine.files.search({path: process.argv[2], contents: {pattern: 'ne+dle', regex: true}})) {
		found.push(kind, line);
	}
	const child = await machine.start(['sh', '-c', 'printf ${'a'.repeat(60)}; printf "port 42"; exec sleep 1000']);
	const {match} = await machine.waitFor(child, {pattern: /port (\\d+)/i});
	const failure = await machine.waitFor(child, {pattern: /(a+)+$b/}).catch(error => error.reason);
	console.log(JSON.stringify([found, match[1], failure]));
}
main();
`;

/** Files of the package that a bundle has no copy of, and optional native modules. */
const EXTERNAL = ['koffi', '@lydell/node-pty', 'bufferutil', 'utf-8-validate', '@nats-io/*'];
const REQUIRE = `import {createRequire as makeRequire} from 'node:module'; const require = makeRequire(import.meta.url);`;

test('a program that was bundled into one file searches files and waits for patterns', async () => {
	const directory = scratchDirectory();
	writeFileSync(join(directory, 'hay.txt'), 'hay\nneedle\n');
	const program = join(directory, 'program.mjs');
	await build({
		stdin: {contents: PROGRAM, resolveDir: directory},
		outfile: program,
		bundle: true,
		platform: 'node',
		target: 'node20',
		format: 'esm',
		alias: {longarm: LIBRARY},
		external: EXTERNAL,
		banner: {js: REQUIRE},
		logLevel: 'error',
	});
	const command = new Command([directory], {program});
	await command.ended;
	expect(command.stderr).toBe('');
	expect(JSON.parse(command.stdout)).toEqual([['file', 2], '42', 'the pattern takes too long to match']);
});
