import {spawnSync} from 'node:child_process';
import {closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {isExecutable} from '../shared/node/access.js';
import {bubblewrapArguments, bubblewrapVariables, MASKED_PROC_FILES, type SandboxHelpers} from './bubblewrap.js';
import {unenforceableError} from './plan.js';
import {seccompFilter} from './seccomp-filter.js';
import {findTrustedProgram} from './trusted-program.js';

/** Limit for the trial run, which is done once. */
const TRIAL_TIMEOUT_MS = 5000;
/** A failed detection is repeated after this time: the machine may have been fixed. */
const RETRY_AFTER_MS = 10_000;
const PROGRAM_DIRECTORIES = ['/usr/bin', '/bin', '/usr/local/bin', '/run/current-system/sw/bin'];
/** Never looked for along a PATH: it runs outside of every sandbox. */
const BUBBLEWRAP_FILES = PROGRAM_DIRECTORIES.map(directory => join(directory, 'bwrap'));
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
export function requireBubblewrap(): Bubblewrap {
	if (!detected || ('why' in detected && performance.now() - detected.at > RETRY_AFTER_MS))
		detected = detectBubblewrap();
	if ('usable' in detected) return detected.usable;
	throw unenforceableError(`${detected.why} (${HINT})`);
}

/** True if the trial run succeeded or, before it, if the program exists and no kernel setting forbids namespaces. */
export function isBubblewrapLikely(): boolean {
	if (detected) return 'usable' in detected;
	const isRoot = process.geteuid?.() === 0;
	return (
		'file' in findTrustedProgram(BUBBLEWRAP_FILES) &&
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

function detectBubblewrap(): Detection {
	const at = performance.now();
	const found = findTrustedProgram(BUBBLEWRAP_FILES);
	if ('why' in found) return {why: found.why, at};
	const {file} = found;
	// Helpers run inside the sandbox.
	const maskedFiles = MASKED_PROC_FILES.filter(path => existsSync(path));
	const helpers = {setsid: findHelper('setsid'), bash: findHelper('bash'), maskedFiles};
	const failure = tryBubblewrap(file, helpers);
	return failure === undefined ? {usable: {file, helpers}} : {why: `\`${file}\` does not work: ${failure}`, at};
}

/** Returns the reason of the failure; undefined if it works. */
function tryBubblewrap(file: string, helpers: SandboxHelpers): string | undefined {
	const command = {
		program: '/bin/sh',
		args: ['-c', ':'],
		arg0: undefined,
		cwd: '/',
		terminal: false,
		environment: new Map<string, string>(),
	};
	const args = bubblewrapArguments({mounts: [{kind: 'read', path: '/'}], network: 'none'}, command, helpers);
	const descriptors = [seccompFilter('none'), bubblewrapVariables(command)].map(openContent);
	try {
		// Synchronous: the reaper of this process would collect the exit status of an asynchronous child.
		const {status, error, stderr} = spawnSync(file, args, {
			stdio: ['ignore', 'ignore', 'pipe', ...descriptors],
			cwd: '/',
			timeout: TRIAL_TIMEOUT_MS,
			killSignal: 'SIGKILL',
			encoding: 'utf8',
			env: {},
		});
		if (status === 0) return undefined;
		return error?.message ?? (stderr.trim() || `it ended with ${status}`);
	} finally {
		for (const fd of descriptors) closeSync(fd);
	}
}

/** Opens an unlinked file that holds `content`, so that no other program can change it and none is left behind. */
function openContent(content: Uint8Array): number {
	const directory = mkdtempSync(join(tmpdir(), 'longarm-trial-'));
	try {
		const fd = openSync(join(directory, 'content'), 'wx+', 0o600);
		// By position: the reader shares the offset, which has to stay at the beginning.
		writeSync(fd, content, 0, content.length, 0);
		return fd;
	} finally {
		rmSync(directory, {recursive: true});
	}
}

function findHelper(name: string): string | undefined {
	return PROGRAM_DIRECTORIES.map(directory => join(directory, name)).find(isExecutable);
}
