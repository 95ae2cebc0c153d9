import type {Backend} from './backend.js';
import {createPosixBackend} from './linux/native-backend.js';
import {createPortableBackend} from './node/child-process-backend.js';

let selected: Backend | undefined;

/** The best way to start children on this machine, loaded on first use and shared by everybody in the program. */
export function selectBackend(): Backend {
	selected ??= createPosixBackend() ?? createPortableBackend();
	return selected;
}
