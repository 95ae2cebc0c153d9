// Linux only.
import {spawnSync} from 'node:child_process';
import {closeSync} from 'node:fs';
import {errorMessage} from '../../shared/errors.js';
import {loadMemoryFileCalls, openMemoryFile} from '../../shared/node/memory-file.js';
import {osErrorText} from '../../shared/node/os-error.js';

import type {SandboxedCommand, SandboxPlan} from '../plan.js';

const TRIAL_TIMEOUT_MS = 5000;
const FIRST_EXTRA_FD = 3;

/** Path of a launcher, which is the first descriptor its process is given. */
export const LAUNCHER_FILE = `/proc/self/fd/${FIRST_EXTRA_FD}`;

/** A plan and a command that does nothing, for a trial run. */
export const TRIAL_PLAN: SandboxPlan = {mounts: [{kind: 'read', path: '/'}], network: 'none'};
export const TRIAL_COMMAND: SandboxedCommand = {
	program: '/bin/sh',
	args: ['-c', ':'],
	arg0: undefined,
	cwd: '/',
	terminal: false,
	environment: new Map<string, string>(),
};

/** Runs a launcher and returns its exit code, or the reason why there is none. */
export function runLauncher(program: Uint8Array): {readonly code: number; readonly stderr: string} | string {
	let fd: number;
	try {
		fd = openMemoryFile(loadMemoryFileCalls(), program, {minFd: FIRST_EXTRA_FD, isExecutable: true}, toMemoryError);
	} catch (error) {
		return errorMessage(error);
	}
	try {
		// Synchronous: the reaper of this process would collect the exit status of an asynchronous child.
		const {status, error, stderr} = spawnSync(LAUNCHER_FILE, [], {
			stdio: ['ignore', 'ignore', 'pipe', fd],
			cwd: '/',
			timeout: TRIAL_TIMEOUT_MS,
			killSignal: 'SIGKILL',
			encoding: 'utf8',
			env: {},
		});
		return status === null ? (error?.message ?? 'the launcher was killed') : {code: status, stderr: stderr.trim()};
	} finally {
		closeSync(fd);
	}
}

/** Returns the reason of a failure. */
export function tryLauncher(create: () => Uint8Array): string | undefined {
	const outcome = runLauncher(create());
	if (typeof outcome === 'string') return outcome;
	return outcome.code === 0 ? undefined : outcome.stderr || `the launcher ended with ${outcome.code}`;
}

function toMemoryError(errno: number): Error {
	return new Error(`programs in memory are not allowed: ${osErrorText(errno)}`);
}
