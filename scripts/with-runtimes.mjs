// Runs a command with Bun and Deno on the PATH, which are installed on demand:
//   node scripts/with-runtimes.mjs -- npx vitest run test/runtimes.test.ts
import {spawn, spawnSync} from 'node:child_process';
import {delimiter, join} from 'node:path';
import {scratchPackage} from './lib/scratch-package.mjs';

const RUNTIMES = ['bun', 'deno'];

const [separator, command, ...args] = process.argv.slice(2);
if (separator !== '--' || command === undefined) {
	console.error('usage: node scripts/with-runtimes.mjs -- COMMAND [ARG...]');
	process.exit(2);
}
const directories = RUNTIMES.map(name =>
	findFolder(
		name,
		scratchPackage(name, folder => findFolder(name, folder) !== undefined),
	),
);
const child = spawn(command, args, {
	stdio: 'inherit',
	env: {...process.env, PATH: [...directories, process.env.PATH].join(delimiter)},
});
child.on('error', error => {
	console.error(`${command}: ${error.message}`);
	process.exit(127);
});
child.on('exit', code => process.exit(code ?? 1));

/** Folder of the program, which a package brings itself or gets with its script. */
function findFolder(name, folder) {
	const place = join(folder, 'node_modules/.bin');
	return spawnSync(join(place, name), ['--version']).status === 0 ? place : undefined;
}
