import {openEnvironment} from '../../common/environments.js';
import {usageError} from '../../exit-codes.js';
import {attach} from './attach/attach.js';
import {ownTerminalKind, variablesOf} from './run-command.js';

export interface ShellRequest {
	readonly environment: string | undefined;
	/** The login shell of the executor when it is empty. */
	readonly argv: readonly string[];
	readonly cwd: string | undefined;
	/** `NAME=value`. */
	readonly variables: readonly string[];
}

/** Hands our terminal to a shell somewhere else; settles with its exit code. */
export async function shell({environment, argv, cwd, variables}: ShellRequest): Promise<number> {
	if (!process.stdin.isTTY) {
		throw usageError('standard input is not a terminal, and a shell needs one; `longarm run -- sh` takes any input');
	}
	const env = {...ownTerminalKind(), ...variablesOf(variables)};
	return attach(await openEnvironment(environment), {argv, cwd, env, tty: true});
}
