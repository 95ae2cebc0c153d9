import {join} from 'node:path';
import {stateHome} from '../../../shared/node/state-home.js';
import {usageError} from '../../exit-codes.js';

/** Options that commands about a hub's directory have in common. */
export interface HubDirectoryOptions {
	/** Directory of the hub; below the user's directory for state by default. */
	readonly data: string | undefined;
	readonly json: boolean;
}

export function hubDirectory(given: string | undefined): string {
	if (given !== undefined && given !== '') return given;
	const home = stateHome(process.env);
	if (given === '' || home === undefined) throw usageError('--data needs the directory of the hub');
	return join(home, 'hub');
}
