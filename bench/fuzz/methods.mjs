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

/** Notifications with the number of an event; others about processes, such as that of a new driver, have none. */
export const NUMBERED = new Set(
	Object.keys(METHODS).filter(name => {
		const {kind, from, params} = METHODS[name];
		return kind === 'notification' && from === 'server' && hasMembers(params, 'processId', 'seq');
	}),
);

/** Requests whose handle names an open file. */
export const WITH_HANDLE = new Set(REQUESTS.filter(name => hasMembers(METHODS[name].params, 'handleId')));

/** Requests whose id names a watch. */
export const WITH_WATCH = new Set(['fs/watch', 'fs/unwatch']);

/** Requests that may rightly wait for a process. */
// biome-ignore format: a list to read, not one line each
export const SLOW = new Set([
	'process/read', 'process/wait', 'process/waitFor', 'process/logs', 'process/write', 'command/exec/write',
]);

export const STARTS = new Set(['process/start', 'command/exec']);

/** The params of a request by name, also when they come by position. */
export function namedParams(method, params) {
	if (!Array.isArray(params)) return params;
	const {entries = {}} = Object.hasOwn(METHODS, method) ? METHODS[method].params : {};
	return Object.fromEntries(Object.keys(entries).map((name, index) => [name, params[index]]));
}

function hasMembers({entries}, ...names) {
	return names.every(name => Object.hasOwn(entries ?? {}, name));
}
