import {weightedList} from '../lib/random.mjs';
import {built} from './workspace.mjs';

/** The table of the server that is tried. */
export const {METHODS} = await import(built('protocol/index.js'));

export const REQUESTS = Object.keys(METHODS).filter(
	name => METHODS[name].kind === 'request' && METHODS[name].from === 'client',
);

export const WEIGHTED_METHODS = weightedList(
	REQUESTS.map(name => {
		if (name === 'process/start') return [5, name];
		if (name === 'command/exec') return [1, name];
		if (name === 'process/list' || name === 'initialize') return [4, name];
		return [name.startsWith('process/') ? 16 : 4, name];
	}),
);

// biome-ignore format: a list to read, not one line each
export const OTHER_NAMES = [
	'', 'nope', 'toString', '__proto__', 'constructor', 'initialized', 'process/output', 'fs/join', 'x'.repeat(200),
];

/** Requests that may rightly wait for a process. */
export const SLOW = new Set(['process/read', 'process/wait', 'process/write', 'command/exec/write']);

export const STARTS = new Set(['process/start', 'command/exec']);
