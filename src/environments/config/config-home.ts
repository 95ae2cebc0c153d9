import {homedir} from 'node:os';
import {join} from 'node:path';
import type {ConfigVariables} from './config-variables.js';

/** Name of the file that names environments. */
export const ENVIRONMENTS_FILE = 'environments.toml';

/** Directory of `environments.toml`: `LONGARM_HOME`, else `.longarm` in the user's home directory. */
export function homeOf(variables: ConfigVariables): string {
	return variables['LONGARM_HOME'] || join(homedir(), '.longarm');
}
