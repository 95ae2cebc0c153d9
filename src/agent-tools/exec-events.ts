/** What all events of a command have in common. */
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

export interface BeginEvent extends StartFacts {
	readonly kind: 'begin';
}

/** At most 8,192 bytes that cut no character; both streams are one here. After 10,000 of them a command is silent. */
export interface OutputDeltaEvent extends ExecEventBase {
	readonly kind: 'outputDelta';
	readonly stream: 'stdout';
	readonly bytes: Uint8Array;
}

export interface InteractionEvent extends ExecEventBase {
	readonly kind: 'interaction';
	readonly stdin: string;
}

export interface EndEvent extends StartFacts {
	readonly kind: 'end';
	/** Head and tail of everything, with a marker between them where something is missing. */
	readonly stdout: string;
	/** Empty, unless the process was lost: then why. */
	readonly stderr: string;
	readonly aggregatedOutput: string;
	/** -1 where nobody knows. */
	readonly exitCode: number;
	readonly durationMs: number;
	readonly status: 'completed' | 'failed';
}

export type ExecEvent = BeginEvent | OutputDeltaEvent | InteractionEvent | EndEvent;
export type ExecEventListener = (event: ExecEvent) => void;

/** A listener that throws has a bug of its own, to be heard of elsewhere; the commands go on. */
export function guarded(listener: ExecEventListener | undefined): ExecEventListener {
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
