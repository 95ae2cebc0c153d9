import {RemoteBackend} from '../remote/remote-backend.js';
import {findOwnCommand} from './own-command.js';

/** A server on pipes for this program alone; started by the first call, and ends with the program. */
export function startOwnServer(
	variables: Readonly<Record<string, string | undefined>>,
	command: readonly string[] = findOwnCommand(),
): RemoteBackend {
	const [program, ...args] = command;
	return new RemoteBackend({
		kind: 'command',
		program: program!,
		args: [...args, 'serve', '--listen', 'stdio', '--log-level', 'error'],
		env: Object.fromEntries(
			Object.entries(variables).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
		),
	});
}
