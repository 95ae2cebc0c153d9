import {OTHER_RUNTIME} from '../../shared/node/other-runtime.js';
import type {Backend} from './backend.js';
import {createNativeBackend} from './linux/native-backend.js';
import {createChildProcessBackend} from './node/child-process-backend.js';

let selected: Backend | undefined;

/**
 * The native backend where it is available, else `node:child_process`: other runtimes than Node do not let go of descriptors
 * that they have not opened themselves. Loaded on first use, one per process.
 */
export function selectBackend(): Backend {
	selected ??= (OTHER_RUNTIME === undefined ? createNativeBackend() : undefined) ?? createChildProcessBackend();
	return selected;
}
