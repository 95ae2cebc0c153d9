import type {Backend} from './backend.js';
import {createNativeBackend} from './linux/native-backend.js';
import {createChildProcessBackend} from './node/child-process-backend.js';

let selected: Backend | undefined;

/** The native backend where it is available, else `node:child_process`. Loaded on first use, one per process. */
export function selectBackend(): Backend {
	selected ??= createNativeBackend() ?? createChildProcessBackend();
	return selected;
}
