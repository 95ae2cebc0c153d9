// Names that differ from run to run are no part of the messages while these are made: a mutation decides by the letters of
// a text and by its length, and an episode that is played again has to come to the same decisions.
import {scratch, token} from './workspace.mjs';

/** In place of the directory whose files messages name, and of the mark of every process. */
export const SCRATCH = '/stand-in/scratch';
export const TOKEN = 'stand-in-token';

/** In place of the id of a session, by the number of the handshake that has told it; as long as an id. */
export function sessionStandIn(index) {
	return `5e551000-0000-4000-8000-${String(index).padStart(12, '0')}`;
}

/** The payload as it is sent, with the names of this run. */
export function withNamesOfRun(payload, sessions = []) {
	if (typeof payload !== 'string') return Buffer.from(withNamesOfRun(payload.toString('latin1'), sessions), 'latin1');
	let text = payload.replaceAll(SCRATCH, scratch).replaceAll(TOKEN, token);
	for (const [index, id] of sessions.entries()) text = text.replaceAll(sessionStandIn(index), id);
	return text;
}
