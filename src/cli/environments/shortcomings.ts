import type {ServerDescription} from '../../environments/process-place.js';

/** What a command may want and a server may not have, by the capability that says so. */
const ABILITIES = {
	portForward: 'forward ports',
	processResize: 'resize terminals',
	processCloseStdin: 'end the input of a program',
	processSignalByName: 'send any signal',
	processTimeLimit: 'limit the time of a program',
	fsTransfer: 'take a whole tree as one stream',
	fsAtomicWrite: 'replace a file in one step',
	fsWatch: 'watch trees',
	fsSearch: 'search files',
	httpCancel: 'give up a request',
} as const;

/** What this server cannot do, for people. */
export function shortcomings({dialect, capabilities}: ServerDescription): string[] {
	const missing = Object.entries(ABILITIES).flatMap(([name, words]) => (capabilities[name] ? [] : [words]));
	return dialect === 'v0' ? ['files and HTTP', ...missing] : missing;
}
