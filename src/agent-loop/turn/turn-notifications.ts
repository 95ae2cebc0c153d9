/** States of a turn on the wire. */
export type TurnStatus = 'inProgress' | 'completed' | 'failed' | 'interrupted';

/** A turn of a thread; `error` says why it failed. */
export interface Turn {
	readonly id: string;
	readonly status: TurnStatus;
	readonly error?: {readonly message: string} | null | undefined;
}

/** Something that was said or done in a turn. */
export type TurnItem =
	| {readonly type: 'agentMessage'; readonly text: string}
	| {readonly type: 'functionCall'; readonly callId: string; readonly name: string; readonly arguments: string}
	| {readonly type: 'functionCallOutput'; readonly callId: string; readonly output: string};

/** Event in the life of a turn, in the shape of codex's app server. */
export type TurnNotification =
	| {readonly method: 'turn/started'; readonly params: {readonly threadId: string; readonly turn: Turn}}
	| {
			readonly method: 'item/completed';
			readonly params: {readonly threadId: string; readonly turnId: string; readonly item: TurnItem};
	  }
	/** A request to the model failed and is made again. */
	| {
			readonly method: 'turn/retrying';
			readonly params: {
				readonly threadId: string;
				readonly turnId: string;
				readonly message: string;
				readonly delayMs: number;
			};
	  }
	| {readonly method: 'turn/completed'; readonly params: {readonly threadId: string; readonly turn: Turn}};

/** How a turn has ended. */
export type TurnCompletion =
	| {readonly kind: 'completed'}
	/** The turn is over, and with a terminal error. */
	| {readonly kind: 'failed'; readonly message: string | undefined}
	| {readonly kind: 'aborted'; readonly reason: 'interrupted'};

/**
 * Decodes the typed notification `turn/completed` of codex's app server, and of our own turns. Undefined for every other
 * notification, thread and turn, for a turn that is in progress, and for anything that has not this shape: only the
 * completion of its own turn tells a program that it is finished, whatever other threads do meanwhile.
 */
export function decodeTurnCompleted(
	notification: unknown,
	threadId: string,
	turnId: string,
): TurnCompletion | undefined {
	const {method, params} = membersOf(notification);
	if (method !== 'turn/completed') return undefined;
	const {threadId: itsThread, turn} = membersOf(params);
	const {id, status, error} = membersOf(turn);
	if (itsThread !== threadId || id !== turnId) return undefined;
	switch (status) {
		case 'completed':
			return {kind: 'completed'};
		case 'failed': {
			const {message} = membersOf(error);
			return {kind: 'failed', message: typeof message === 'string' ? message : undefined};
		}
		case 'interrupted':
			return {kind: 'aborted', reason: 'interrupted'};
		default:
			return undefined;
	}
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
	return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
