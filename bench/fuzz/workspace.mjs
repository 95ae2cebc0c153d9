import {cpSync, existsSync, mkdirSync, mkdtempSync, symlinkSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {scratchFolder} from '../../scripts/lib/scratch-folder.mjs';
import {DETACHED_SESSION_MS, RETAIN_CLOSED_MS} from './limits.mjs';
import {options} from './options.mjs';

/** Digits of the largest process id of Linux: the length of a message must not depend on it. */
const PID_DIGITS = 7;

/** Where the build has put a file. */
export const built = name => new URL(`../../dist/${name}`, import.meta.url).pathname;
const cache = new URL('../../node_modules/.cache/', import.meta.url).pathname;

if (!existsSync(built('bin/longarm.js'))) {
	console.error('there is nothing to start: npm run build');
	process.exit(2);
}
const home = scratchFolder('fuzz', {below: cache});

/** A copy, so that a build during the run does not pull the program from under it; its modules are found from there. */
export const command = join(home, 'longarm.js');
cpSync(built('bin'), home, {recursive: true});

const states = scratchFolder('fuzz-state');

/** The only directory whose files messages name. */
export const scratch = scratchFolder('fuzz');
writeFileSync(join(scratch, 'a.txt'), 'hello\n');
mkdirSync(join(scratch, 'dir'));
symlinkSync('a.txt', join(scratch, 'link'));

/** Settings of a server, with a state directory of its own: two servers share none. */
export function settings() {
	return [
		['--log-level', 'error'],
		['--state', mkdtempSync(join(states, 'server-'))],
		['--detached-session', `${DETACHED_SESSION_MS}ms`],
		['--retain-closed', `${RETAIN_CLOSED_MS}ms`],
	].flat();
}

/** In the environment of every process that is started, to find those that were left behind. */
export const token = `fuzz-${String(process.pid).padStart(PID_DIGITS, '0')}-${options.seed}`;
