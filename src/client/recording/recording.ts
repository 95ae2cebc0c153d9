/** Entry of a recording of a terminal; `ms` counts from any moment and never goes backwards. */
export type RecordedEntry =
	| {readonly kind: 'output'; readonly ms: number; readonly bytes: Uint8Array}
	| {readonly kind: 'input'; readonly ms: number; readonly bytes: Uint8Array}
	| {readonly kind: 'resize'; readonly ms: number; readonly rows: number; readonly cols: number}
	| {readonly kind: 'marker'; readonly ms: number; readonly label: string}
	| {readonly kind: 'exit'; readonly ms: number; readonly exitCode: number};

/** Beginning of a recording. */
export interface RecordingHeader {
	readonly rows: number;
	readonly cols: number;
	/** Name of the terminal as in TERM. */
	readonly terminalType?: string | undefined;
	/** Date of the beginning, in milliseconds since 1970. */
	readonly startedAtMs?: number | undefined;
	readonly command?: string | undefined;
	readonly title?: string | undefined;
	readonly env?: Readonly<Record<string, string>> | undefined;
}

/** A file that is no recording, or a broken one; the line is counted from 1. */
export class RecordingError extends Error {
	override readonly name = 'RecordingError';
	readonly line: number;

	constructor(line: number, problem: string, cause?: unknown) {
		super(`line ${line} of the recording: ${problem}`, cause === undefined ? undefined : {cause});
		this.line = line;
	}
}
