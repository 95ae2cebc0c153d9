import {readOptions} from '../../shared/call-options.js';
import type {ProcessHost} from './command.js';
import {RUN_OPTIONS, type RunOptions, run} from './run.js';
import {type RunResult} from './run-result.js';

/** A shell and its path. */
export interface Shell {
	readonly name: string;
	readonly path: string;
}

/** Replaces a shell that is not known or does not exist; every POSIX system has it. */
export const FALLBACK_SHELL: Shell = {name: 'sh', path: '/bin/sh'};

/** Options of `shell`. */
export interface ShellOptions extends RunOptions {
	/** A login shell, which reads the profile of the user first. */
	readonly login?: boolean | undefined;
}

/**
 * Runs a command line by the shell of the machine, to its end. The exit code is the shell's: of a pipeline that of its
 * last command, unless the line says `set -o pipefail`.
 */
export async function runCommandLine(
	machine: ProcessHost,
	line: string,
	options: ShellOptions = {},
): Promise<RunResult> {
	if (typeof line !== 'string') {
		throw new TypeError("the command line must be text; use run(['ls', '-la']) for a list of arguments");
	}
	readOptions<ShellOptions>(options, {...RUN_OPTIONS, login: 'flag'}, 'shell()');
	const {login = false, ...rest} = options;
	return run(machine, createShellArgv(await findShell(machine), line, login), rest);
}

/** `/usr/bin/zsh`, `C:\\tools\\pwsh.exe` → `zsh`, `pwsh`. */
export function parseShellName(path: string): string {
	const file = path.split(/[\\/]/).at(-1)!;
	return file.replace(/\.[^.]*$/, '').toLowerCase();
}

/** Command line with which a shell runs a command. */
export function createShellArgv({name, path}: Shell, command: string, isLogin: boolean): string[] {
	switch (name) {
		case 'pwsh':
		case 'powershell':
			return [path, ...(isLogin ? [] : ['-NoProfile']), '-Command', command];
		case 'cmd':
			return [path, '/c', command];
		default:
			return [path, isLogin ? '-lc' : '-c', command];
	}
}

async function findShell(machine: ProcessHost): Promise<Shell> {
	try {
		const {path} = (await machine.info()).shell;
		return path === '' ? FALLBACK_SHELL : {name: parseShellName(path), path};
	} catch {
		// The server is too old to describe itself, or cannot be reached, which `run` reports.
		return FALLBACK_SHELL;
	}
}
