// Runs a command with another line of Node first on the PATH, which is installed on demand:
//   node scripts/with-node.mjs 24 -- npm run unit
import {spawn, spawnSync} from 'node:child_process';
import {constants} from 'node:os';
import {delimiter, join} from 'node:path';
import {scratchPackage} from './lib/scratch-package.mjs';

/** What a shell adds to the number of the signal a command died of. */
const SIGNAL_BASE = 128;
const NOT_FOUND = 127;

const [line, separator, command, ...args] = process.argv.slice(2);
if (!/^\d+(\.\d+)*$/.test(line ?? '') || separator !== '--' || command === undefined) {
	console.error('usage: node scripts/with-node.mjs LINE -- COMMAND [ARG...]');
	process.exit(2);
}
const directory = binOf(installed());
const child = spawn(command, args, {
	stdio: 'inherit',
	env: {...process.env, PATH: [directory, process.env.PATH].join(delimiter)},
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => void child.kill(signal));
child.on('error', error => {
	console.error(`${command}: ${error.message}`);
	process.exit(NOT_FOUND);
});
child.on('exit', (code, signal) => process.exit(code ?? SIGNAL_BASE + constants.signals[signal]));

function installed() {
	try {
		return scratchPackage(`node@${line}`, isThatNode);
	} catch (error) {
		console.error(error.message);
		process.exit(1);
	}
}

function isThatNode(folder) {
	const {status, stdout} = spawnSync(join(binOf(folder), 'node'), ['--version'], {encoding: 'utf8'});
	return status === 0 && `${stdout.trim()}.`.startsWith(`v${line}.`);
}

function binOf(folder) {
	return join(folder, 'node_modules/node/bin');
}
