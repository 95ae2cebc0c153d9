import type {NumberedEvent} from '../../src/client/process/process-handle.js';

/** An output event on stdout; `content` is its text or its number of bytes. */
export function output(seq: number, content: string | number = 1): NumberedEvent {
	const bytes = typeof content === 'number' ? new Uint8Array(content) : Buffer.from(content);
	return {kind: 'output', seq, stream: 'stdout', bytes};
}

export function exited(seq: number, exitCode = 0): NumberedEvent {
	return {kind: 'exited', seq, exitCode, sandboxDenied: false, reason: undefined};
}

export function closed(seq: number): NumberedEvent {
	return {kind: 'closed', seq};
}

/** The same output as a chunk of a `process/read` result. */
export function chunk(seq: number, text: string) {
	return {seq, stream: 'stdout' as const, chunk: new Uint8Array(Buffer.from(text))};
}
