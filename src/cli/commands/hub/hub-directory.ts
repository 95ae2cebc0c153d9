import {join, resolve} from 'node:path';
import {requireOwnDirectory} from '../../../processes/spill/own-directory.js';
import {toStateError} from '../../../processes/spill/state-files.js';
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

/** The directory of a hub that is there already, or of none yet. Throws `STATE_UNUSABLE` for one that others could have prepared. */
export function ownHubDirectory(given: string | undefined): string {
	const directory = resolve(hubDirectory(given));
	try {
		requireOwnDirectory(directory);
		return directory;
	} catch (error) {
		throw toStateError(error, directory);
	}
}
