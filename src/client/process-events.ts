import type {Params} from '../protocol/methods.js';

/** Where output came from. */
export type OutputStream = 'stdout' | 'stderr' | 'pty';

/** What happens to a process, numbered from 1 without gaps. Exit and end of output are two facts. */
export type NumberedEvent =
	| {readonly kind: 'output'; readonly seq: number; readonly stream: OutputStream; readonly bytes: Uint8Array}
	| {
			readonly kind: 'exited';
			readonly seq: number;
			readonly exitCode: number;
			/** Unknown where the server does not say. */
			readonly sandboxDenied: boolean | undefined;
			/** What ended it, where the server says more than the code. */
			readonly reason: Params<'process/exited'>['reason'];
	  }
	| {readonly kind: 'closed'; readonly seq: number};

/** Events that are gone for good: the connection was away for longer than the server keeps output. */
export interface Gap {
	readonly kind: 'gap';
	readonly afterSeq: number;
	readonly throughSeq: number;
	/** Where the server says how much it was. */
	readonly missedBytes: number | undefined;
}

/** `failed` ends the events of a process nobody can say anything about any more; it is not an exit. */
export type ProcessEvent = NumberedEvent | Gap | {readonly kind: 'failed'; readonly message: string};

/** What an event weighs in memory. */
export function payloadOf(event: ProcessEvent): number {
	if (event.kind === 'output') return event.bytes.length;
	return event.kind === 'failed' ? event.message.length : 0;
}

/** Nothing comes after it. */
export function isLast(event: ProcessEvent): boolean {
	return event.kind === 'closed' || event.kind === 'failed';
}
