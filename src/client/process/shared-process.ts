import type {Params, Result} from '../../protocol/methods/method-table.js';
import type {ProcessRole} from '../../protocol/methods/sharing-params.js';
import type {OptionTable} from '../../shared/call-options.js';
import type {Duration} from '../../shared/units.js';
import type {RecordedEntry} from '../recording/recording.js';
import type {OutputStream} from './process-handle.js';

/** `observe` sees the output; `drive` writes, resizes, signals and closes the input, too. One client at a time drives. */
export type {ProcessRole};

/** Rows and columns of a terminal. */
export interface ScreenSize {
	readonly rows: number;
	readonly cols: number;
}

/** A process as a list shows it. */
export type ListedProcess = Result<'process/list'>['processes'][number];

/** Options of `list`. */
export interface ListProcessesOptions {
	/** Processes of all clients that this one may look at, and not of its own session only. Needs `processAttach`. */
	readonly all?: boolean | undefined;
	/** Processes with all of these labels. Needs `processAttach`. */
	readonly labels?: Readonly<Record<string, string>> | undefined;
	/** With `all`, ended ones whose output is kept on disk, too. Needs `processAttach`. */
	readonly includeEnded?: boolean | undefined;
}

export const LIST_OPTIONS: OptionTable<ListProcessesOptions> = {all: 'flag', labels: 'object', includeEnded: 'flag'};

/** Options of `attach`. */
export interface AttachProcessOptions {
	/** Number of an event: only later ones are delivered; from the oldest that is kept by default. */
	readonly afterSeq?: number | undefined;
	/** Without one: the driver of a process of this client's session, and an observer of others. */
	readonly role?: ProcessRole | undefined;
	/** Takes the place of the present driver, who keeps watching. */
	readonly takeover?: boolean | undefined;
	/** Size of the terminal, set by the driver. */
	readonly size?: ScreenSize | undefined;
	/**
	 * The first `events()` or `output()` misses nothing, however slow it is: everything on the connection waits for it, but
	 * not the process. For one process per connection.
	 */
	readonly backpressure?: boolean | undefined;
}

export const ATTACH_OPTIONS: OptionTable<AttachProcessOptions> = {
	afterSeq: 'count',
	role: 'text',
	takeover: 'flag',
	size: 'object',
	backpressure: 'flag',
};

/** Why another client drives a process, or none. */
export type DriverChangeReason = Params<'process/driverChanged'>['reason'];

/** Change around a process that is no event of its own. */
export type ProcessChange =
	/** Another client drives it, or none. */
	| {
			readonly kind: 'driverChanged';
			/** Undefined if there is none. */
			readonly driver: string | undefined;
			readonly previous: string | undefined;
			readonly reason: DriverChangeReason;
	  }
	/** The driver has changed the size of the terminal. */
	| {readonly kind: 'resized'; readonly rows: number; readonly cols: number}
	/** Another client has attached, or has left. */
	| {readonly kind: 'attached' | 'detached'; readonly client: string; readonly role: ProcessRole};

/** Options of `takeOver`. */
export interface TakeOverOptions {
	/** Size of the terminal from now on. */
	readonly size?: ScreenSize | undefined;
}

export const TAKE_OVER_OPTIONS: OptionTable<TakeOverOptions> = {size: 'object'};

/** Options of `screen`. */
export interface ScreenOptions {
	/** The screen after the event of this number; now by default. */
	readonly atSeq?: number | undefined;
	/** The screen at this time, as a date or in milliseconds since 1970. Needs output on disk. */
	readonly at?: Date | number | undefined;
	/** `ansi` keeps colours as escape sequences; `text` by default. */
	readonly format?: 'text' | 'ansi' | undefined;
}

export const SCREEN_OPTIONS: OptionTable<ScreenOptions> = {atSeq: 'count', at: 'any', format: 'text'};

/** The screen of a terminal. */
export type Screen = Result<'process/screen'>;

/** Options of `logs`. Of `from`, `tail` and `since` one can be given; without any, it begins with the oldest output. */
export interface LogOptions {
	/** Number of the first event. */
	readonly from?: number | undefined;
	/** The last lines, so many. */
	readonly tail?: number | undefined;
	/** Output since a date, or of the last `'10m'`. */
	readonly since?: Date | Duration | undefined;
	/** Lines that match only. An expression has no flags. */
	readonly grep?: RegExp | string | undefined;
	/** Output of this stream only. */
	readonly stream?: OutputStream | undefined;
	/** Goes on with what is written later, until the process and its output have ended. */
	readonly follow?: boolean | undefined;
	/** Ends the reading with the reason of the signal. */
	readonly signal?: AbortSignal | undefined;
}

export const LOG_OPTIONS: OptionTable<LogOptions> = {
	from: 'count',
	tail: 'count',
	since: 'any',
	grep: 'any',
	stream: 'text',
	follow: 'flag',
	signal: 'signal',
};

/** A chunk of logged output, or a gap where output is no longer kept. */
export type LogEntry =
	| {
			readonly kind: 'output';
			readonly seq: number;
			readonly stream: OutputStream;
			/** When it was written, in milliseconds since 1970 by the clock of the server; not known of output in memory only. */
			readonly ms: number | undefined;
			readonly bytes: Uint8Array;
	  }
	| {readonly kind: 'gap'; readonly missedBytes: number};

/** Options of `logPage`. Of `from` and `tail` one can be given; without any, it begins with the oldest output. */
export interface LoggedPageOptions {
	/** First byte, over all streams; behind the end it stands for the end. */
	readonly from?: number | undefined;
	/** The last lines, so many. */
	readonly tail?: number | undefined;
	/** Bytes of a page, which may be exceeded by those of one event; 1 MiB by default. */
	readonly maxBytes?: number | undefined;
	/** Waits so long for more at the end of the output, in milliseconds or as `'5s'`. */
	readonly wait?: Duration | undefined;
	readonly signal?: AbortSignal | undefined;
}

export const LOGGED_PAGE_OPTIONS: OptionTable<LoggedPageOptions> = {
	from: 'count',
	tail: 'count',
	maxBytes: 'count',
	wait: 'duration',
	signal: 'signal',
};

/** A page of logged output. */
export interface LoggedPage {
	readonly pieces: readonly {readonly seq: number; readonly stream: OutputStream; readonly bytes: Uint8Array}[];
	/** Number of the event, and of the byte, behind the page. */
	readonly next: {readonly seq: number; readonly byte: number};
	/** Bytes before the page that are no longer kept. */
	readonly missedBytes: number;
	/** There was no more when the page was made. */
	readonly isAtEnd: boolean;
	/** The process and all its output have ended. */
	readonly isClosed: boolean;
	/** Undefined while it runs, and where its exit is not known. */
	readonly exitCode: number | undefined;
}

/** Entry of a recording of a process, or a gap where output is no longer kept. */
export type RecordingEntry = RecordedEntry | {readonly kind: 'gap'; readonly missedBytes: number};

/** Options of `share`. */
export interface ShareOptions {
	/** `observe` by default. */
	readonly role?: ProcessRole | undefined;
	/** Time until the token expires, in milliseconds or as `'1h'`; the server's choice by default. */
	readonly for?: Duration | undefined;
}

export const SHARE_OPTIONS: OptionTable<ShareOptions> = {role: 'text', for: 'duration'};

/** A token for one process and one role, for a while. */
export interface ProcessShare {
	/** Bearer token; a secret. */
	readonly token: string;
	readonly processId: string;
	readonly role: ProcessRole;
	readonly expiresAt: Date;
}

/** A token for one process that is good now, without the token itself. */
export interface ListedShare {
	/** For `unshare`. */
	readonly id: string;
	readonly role: ProcessRole;
	readonly expiresAt: Date;
}

/** Throws a `TypeError` for a role that does not exist. */
export function requireRole(role: ProcessRole | undefined, where: string): void {
	if (role === undefined || role === 'observe' || role === 'drive') return;
	throw new TypeError(`option \`role\` of ${where} must be 'observe' or 'drive'`);
}
