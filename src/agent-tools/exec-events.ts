/** Fields of every event. */
export interface ExecEventBase {
	/** The call that started the command, also for events of later calls. */
	readonly callId: string;
	/** The session number, as text. */
	readonly processId: string;
}

export interface StartFacts extends ExecEventBase {
	readonly turnId: string | undefined;
	readonly startedAtMs: number;
	readonly argv: readonly string[];
	readonly cwd: string;
	readonly command: string;
	readonly source: 'unified_exec_startup';
}

/** A command was started. */
export interface BeginEvent extends StartFacts {
	readonly kind: 'begin';
}

/** At most 8,192 bytes that split no character; both streams are merged. At most 10,000 deltas per command. */
export interface OutputDeltaEvent extends ExecEventBase {
	readonly kind: 'outputDelta';
	readonly stream: 'stdout';
	readonly bytes: Uint8Array;
}

/** Text was written to a running command. */
export interface InteractionEvent extends ExecEventBase {
	readonly kind: 'interaction';
	readonly stdin: string;
}

/** A command has ended, with everything it said. */
export interface EndEvent extends StartFacts {
	readonly kind: 'end';
	/** Head and tail of the output, with a marker in place of dropped bytes. */
	readonly stdout: string;
	/** Reason why the process was lost, else empty. */
	readonly stderr: string;
	readonly aggregatedOutput: string;
	/** -1 if it is unknown. */
	readonly exitCode: number;
	readonly durationMs: number;
	readonly status: 'completed' | 'failed';
}

/** Event in the life of a command of a model, told apart by `kind`. */
export type ExecEvent = BeginEvent | OutputDeltaEvent | InteractionEvent | EndEvent;
/** Is called with every event, in order. */
export type ExecEventListener = (event: ExecEvent) => void;

/** Wraps a listener so that an exception of it does not disturb the command: it is rethrown in a microtask. */
export function isolateListener(listener: ExecEventListener | undefined): ExecEventListener {
	return event => {
		try {
			listener?.(event);
		} catch (error) {
			queueMicrotask(() => {
				throw error;
			});
		}
	};
}
