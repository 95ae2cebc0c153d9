import type {NumberedEvent} from '../../src/client/process/process-handle.js';

/** Output of so many zero bytes. */
export const output = (seq: number, size = 1): NumberedEvent => ({
	kind: 'output',
	seq,
	stream: 'stdout',
	bytes: new Uint8Array(size),
});

export const exited = (seq: number): NumberedEvent => ({
	kind: 'exited',
	seq,
	exitCode: 0,
	sandboxDenied: false,
	reason: undefined,
});

export const closed = (seq: number): NumberedEvent => ({kind: 'closed', seq});
