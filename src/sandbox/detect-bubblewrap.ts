import {spawnSync} from 'node:child_process';
import {closeSync, openSync, readFileSync} from 'node:fs';
import {isAbsolute, join} from 'node:path';
import {isExecutable} from '../shared/node/access.js';
import {bubblewrapArguments, type SandboxHelpers} from './bubblewrap.js';
import {unenforceableError} from './plan.js';
import {seccompFilterPath} from './seccomp-filter.js';

/** Limit for the trial run, which is done once. */
const TRIAL_TIMEOUT_MS = 5000;
/** A failed detection is repeated after this time: the machine may have been fixed. */
const RETRY_AFTER_MS = 10_000;
const DEFAULT_PATH = ['/usr/bin', '/bin', '/usr/local/bin'];
/** Kernel settings that keep unprivileged users from creating namespaces. */
const USER_NAMESPACE_RESTRICTIONS = [
	{file: '/proc/sys/user/max_user_namespaces', value: '0'},
	{file: '/proc/sys/kernel/unprivileged_userns_clone', value: '0'},
	{file: '/proc/sys/kernel/apparmor_restrict_unprivileged_userns', value: '1'},
];
const HINT = 'install bubblewrap 0.8 or later and allow user namespaces';

export interface Bubblewrap {
	readonly file: string;
	readonly helpers: SandboxHelpers;
}

type Detection = {readonly usable: Bubblewrap} | {readonly why: string; readonly at: number};

let detected: Detection | undefined;

/** Bubblewrap of this machine, verified by a trial run on first use. Throws if it does not work. */
export function requireBubblewrap(path: string | undefined): Bubblewrap {
	if (!detected || ('why' in detected && performance.now() - detected.at > RETRY_AFTER_MS))
		detected = detectBubblewrap(path);
	if ('usable' in detected) return detected.usable;
	throw unenforceableError(`${detected.why} (${HINT})`);
}

/** True if the trial run succeeded or, before it, if the program exists and no kernel setting forbids namespaces. */
export function isBubblewrapLikely(path: string | undefined): boolean {
	if (detected) return 'usable' in detected;
	const isRoot = process.geteuid?.() === 0;
	return (
		findProgram('bwrap', path) !== undefined &&
		(isRoot || !USER_NAMESPACE_RESTRICTIONS.some(({file, value}) => hasFileValue(file, value)))
	);
}

function hasFileValue(file: string, value: string): boolean {
	try {
		return readFileSync(file, 'utf8').trim() === value;
	} catch {
		// The kernel has no such setting.
		return false;
	}
}

function detectBubblewrap(path: string | undefined): Detection {
	const at = performance.now();
	const file = findProgram('bwrap', path);
	if (file === undefined) return {why: '`bwrap` was not found', at};
	// Helpers run inside the sandbox, so they come from the standard directories and not from the server's own PATH.
	const helpers = {setsid: findProgram('setsid', undefined), bash: findProgram('bash', undefined)};
	const failure = tryBubblewrap(file, helpers);
	return failure === undefined ? {usable: {file, helpers}} : {why: `\`${file}\` does not work: ${failure}`, at};
}

/** Returns the reason of the failure; undefined if it works. */
function tryBubblewrap(file: string, helpers: SandboxHelpers): string | undefined {
	const args = bubblewrapArguments(
		{mounts: [{kind: 'read', path: '/'}], network: 'none'},
		{program: '/bin/sh', args: ['-c', ':'], arg0: undefined, cwd: '/', terminal: false},
		helpers,
	);
	const filter = openSync(seccompFilterPath('none'), 'r');
	try {
		// Synchronous: the reaper of this process would collect the exit status of an asynchronous child.
		const {status, error, stderr} = spawnSync(file, args, {
			stdio: ['ignore', 'ignore', 'pipe', filter],
			timeout: TRIAL_TIMEOUT_MS,
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
	const directories = [...(path?.split(':').filter(isAbsolute) ?? []), ...DEFAULT_PATH];
	return directories.map(directory => join(directory, name)).find(isExecutable);
}
