// Linux only.
import {type SandboxedCommand, unenforceableError} from '../plan.js';
import type {CallList} from './call-list.js';

/** Search path of a command without PATH, as outside of a sandbox. */
const DEFAULT_PATH = '/usr/local/bin:/bin:/usr/bin';
const TIOCSCTTY = 0x540e;
/** Every descriptor above the standard streams. */
const FIRST_OTHER_FD = 3;
const LAST_FD = 0xffff_ffff;

/** Adds the calls that become the command: a session of its own, its terminal, its program. Nothing follows them. */
export function addCommandCalls(calls: CallList, command: SandboxedCommand): void {
	calls.require('lead a session', 'setsid', []);
	if (command.terminal) calls.require('take the terminal', 'ioctl', [0, TIOCSCTTY, 0]);
	addExecuteCalls(calls, command);
}

/** Adds the calls that enter the directory of the command. */
export function addDirectoryCalls(calls: CallList, cwd: string): void {
	calls.require(`enter ${cwd}`, 'chdir', [calls.text(cwd)]);
}

/** Adds the calls that close everything but the standard streams and the descriptor that the command inherits. */
export function addCloseCalls(calls: CallList, {inheritedFd}: Pick<SandboxedCommand, 'inheritedFd'>): void {
	if (inheritedFd !== undefined) {
		calls.require('close descriptors', 'close_range', [FIRST_OTHER_FD, inheritedFd - 1, 0]);
	}
	const next = inheritedFd === undefined ? FIRST_OTHER_FD : inheritedFd + 1;
	calls.require('close descriptors', 'close_range', [next, LAST_FD, 0]);
}

/** Adds the call by which a process that only waits for the command closes the command's descriptor. */
export function addCloseInheritedCalls(calls: CallList, {inheritedFd}: Pick<SandboxedCommand, 'inheritedFd'>): void {
	if (inheritedFd !== undefined) calls.attempt('close', [inheritedFd]);
}

/** Absolute directory of a command; throws where it cannot be handed over. */
export function requireDirectory({cwd}: SandboxedCommand): string {
	if (cwd === undefined) throw unenforceableError('the working directory is not UTF-8');
	return cwd;
}

function addExecuteCalls(calls: CallList, command: SandboxedCommand): void {
	const {program, args, arg0} = command;
	const argv = calls.texts([arg0 ?? program, ...args]);
	const variables = calls.texts(listVariables(command));
	const files = listCandidates(command);
	for (const file of files.slice(0, -1)) calls.attempt('execve', [calls.text(file), argv, variables]);
	calls.require(`execute ${program}`, 'execve', [calls.text(files.at(-1)!), argv, variables]);
}

/** Files to try in turn, as the shell and the C library do. */
function listCandidates({program, environment}: SandboxedCommand): string[] {
	if (program.includes('/')) return [program];
	const path = environment.get('PATH') ?? DEFAULT_PATH;
	return path.split(':').map(directory => (directory === '' ? `./${program}` : `${directory}/${program}`));
}

/** Texts of the environment. The first of a name counts, as in C; `PWD` is the directory as it was named. */
function listVariables({environment, cwd}: SandboxedCommand): string[] {
	const variables = new Map<string, string>();
	for (const [name, value] of environment) {
		const text = `${name}=${value}`;
		const end = text.indexOf('=');
		if (end === 0) throw unenforceableError('a variable without a name cannot be handed over');
		if (!variables.has(text.slice(0, end))) variables.set(text.slice(0, end), text);
	}
	return [...variables.set('PWD', `PWD=${cwd}`).values()];
}
