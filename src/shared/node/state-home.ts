import {homedir} from 'node:os';
import {isAbsolute, join} from 'node:path';

const PROGRAM = 'longarm';

/** Directory of this program below the user's directory for state: `XDG_STATE_HOME`, else `~/.local/state`. */
export function stateHome(variables: Readonly<Record<string, string | undefined>>): string | undefined {
	const given = variables['XDG_STATE_HOME'];
	// A relative one is to be ignored, says the standard.
	if (given && isAbsolute(given)) return join(given, PROGRAM);
	try {
		return join(homedir(), '.local', 'state', PROGRAM);
	} catch {
		// The user id has no entry in the user database, and HOME is not set.
		return undefined;
	}
}
