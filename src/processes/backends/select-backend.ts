import type {Backend} from './backend.js';
import {createNativeBackend} from './linux/native-backend.js';
import {createChildProcessBackend} from './node/child-process-backend.js';

let selected: Backend | undefined;

/** The best way to start children on this machine, loaded on first use and shared by everybody in the program. */
export function selectBackend(): Backend {
	selected ??= createNativeBackend() ?? createChildProcessBackend();
	return selected;
}
