import {parseDuration} from '../../../shared/units.js';
import {openEnvironment} from '../../common/environments.js';
import {usageError} from '../../exit-codes.js';
import {attach} from './attach/attach.js';

export interface RunRequest {
	readonly environment: string | undefined;
	readonly argv: readonly string[];
	readonly cwd: string | undefined;
	/** `NAME=value`. */
	readonly variables: readonly string[];
	readonly timeout: string | undefined;
	readonly tty: boolean;
}

/** Runs a command as if it were one of this machine; settles with its exit code. */
export async function runCommand({environment, argv, cwd, variables, timeout, tty}: RunRequest): Promise<number> {
	const timeoutMs = timeout === undefined ? undefined : durationOf(timeout);
	const env = {...(tty && ownTerminalKind()), ...variablesOf(variables)};
	return attach(await openEnvironment(environment), {argv, cwd, env, tty, timeoutMs});
}

/** A program has to know what kind of terminal its output goes to. */
export function ownTerminalKind(): Record<string, string> {
	const kind = process.env['TERM'];
	return kind ? {TERM: kind} : {};
}

export function variablesOf(given: readonly string[]): Record<string, string> {
	return Object.fromEntries(
		given.map(text => {
			const at = text.indexOf('=');
			if (at <= 0) throw usageError(`--env ${text}: expected NAME=VALUE`);
			return [text.slice(0, at), text.slice(at + 1)];
		}),
	);
}

function durationOf(text: string): number {
	const ms = parseDuration(text);
	if (ms === undefined) throw usageError(`--timeout ${text}: expected a time such as 30s, 500ms or 2h`);
	return ms;
}
