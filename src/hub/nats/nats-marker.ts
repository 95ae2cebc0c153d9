import {existsSync, rmSync} from 'node:fs';
import {join} from 'node:path';
import {replaceFile} from '../../processes/spill/state-files.js';

/** Says that the state of a hub is in NATS, and not in its directory. */
const MARKER_FILE = 'state-is-in-nats';

/** Whether the hub that used a directory last had its state in NATS. */
export function isStateInNats(directory: string): boolean {
	return existsSync(join(directory, MARKER_FILE));
}

export function markStateInNats(directory: string): void {
	replaceFile(join(directory, MARKER_FILE), 'tokens: longarm hub token asks the hub that runs here\n');
}

/** The hub that uses a directory keeps its state there from now on. */
export function unmarkStateInNats(directory: string): void {
	rmSync(join(directory, MARKER_FILE), {force: true});
}
