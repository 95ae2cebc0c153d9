import {spawnSync} from 'node:child_process';
import {closeSync, openSync, readFileSync} from 'node:fs';
import {isAbsolute, join} from 'node:path';
import {isExecutable} from '../shared/node/access.js';
import {bubblewrapArguments, type Helpers} from './bubblewrap.js';
import {unenforceable} from './refusals.js';
import {filterPath} from './seccomp-filter.js';

/** How long the trial may take; it is done once. */
const TRIAL_MS = 5000;
/** A machine that could not may have been mended meanwhile. */
const TRY_AGAIN_MS = 10_000;
const USUAL_DIRECTORIES = ['/usr/bin', '/bin', '/usr/local/bin'];
/** What keeps ordinary users from making namespaces. */
const BARRIERS = [
	{file: '/proc/sys/user/max_user_namespaces', value: '0'},
	{file: '/proc/sys/kernel/unprivileged_userns_clone', value: '0'},
	{file: '/proc/sys/kernel/apparmor_restrict_unprivileged_userns', value: '1'},
];
const HINT = 'install bubblewrap 0.8 or later and allow user namespaces';

export interface Bubblewrap {
	readonly file: string;
	readonly helpers: Helpers;
}

type Detection = {readonly usable: Bubblewrap} | {readonly why: string; readonly at: number};

let detected: Detection | undefined;

/** Bubblewrap on this machine, tried out on first use as it is used later. Throws where it does not work. */
export function bubblewrap(path: string | undefined): Bubblewrap {
	if (!detected || ('why' in detected && performance.now() - detected.at > TRY_AGAIN_MS)) detected = detect(path);
	if ('usable' in detected) return detected.usable;
	throw unenforceable(`${detected.why} (${HINT})`);
}

/** Whether it was found to work or, before it was tried, nothing that can be seen at a glance speaks against it. */
export function seemsUsable(path: string | undefined): boolean {
	if (detected) return 'usable' in detected;
	const isRoot = process.geteuid?.() === 0;
	return findProgram('bwrap', path) !== undefined && (isRoot || !BARRIERS.some(({file, value}) => reads(file, value)));
}

function reads(file: string, value: string): boolean {
	try {
		return readFileSync(file, 'utf8').trim() === value;
	} catch {
		// A kernel that knows no such barrier.
		return false;
	}
}

function detect(path: string | undefined): Detection {
	const at = performance.now();
	const file = findProgram('bwrap', path);
	if (file === undefined) return {why: '`bwrap` was not found', at};
	// Those inside the sandbox are run where everybody has them, not where the server's own PATH leads.
	const helpers = {setsid: findProgram('setsid', undefined), bash: findProgram('bash', undefined)};
	const complaint = trial(file, helpers);
	return complaint === undefined ? {usable: {file, helpers}} : {why: `\`${file}\` does not work: ${complaint}`, at};
}

/** Undefined when it works. */
function trial(file: string, helpers: Helpers): string | undefined {
	const args = bubblewrapArguments(
		{mounts: [{kind: 'read', path: '/'}], network: 'none'},
		{program: '/bin/sh', args: ['-c', ':'], arg0: undefined, cwd: '/', terminal: false},
		helpers,
	);
	const filter = openSync(filterPath('none'), 'r');
	try {
		// Without waiting for the event loop: what reaps the children of this program would take this one's end, too.
		const {status, error, stderr} = spawnSync(file, args, {
			stdio: ['ignore', 'ignore', 'pipe', filter],
			timeout: TRIAL_MS,
			killSignal: 'SIGKILL',
			encoding: 'utf8',
			env: {},
		});
		if (status === 0) return undefined;
		return error?.message ?? (stderr.trim() || `it ended with ${status}`);
	} finally {
		closeSync(filter);
	}
}

function findProgram(name: string, path: string | undefined): string | undefined {
	const directories = [...(path?.split(':').filter(isAbsolute) ?? []), ...USUAL_DIRECTORIES];
	return directories.map(directory => join(directory, name)).find(isExecutable);
}
