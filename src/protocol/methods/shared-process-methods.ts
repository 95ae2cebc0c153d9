import * as v from 'valibot';
import {bytes, empty, optionalField, u64} from '../wire/fields.js';
import {clientRequest, serverNotification} from './declare-method.js';
import {endReason, outputStream, processId, terminalSize} from './process-methods.js';
import {awaitedInput, processRole} from './sharing-params.js';

const attachParams = v.object({
	/** Id or name; of the client's own session first. */
	process: v.string(),
	role: v.nullish(processRole, 'observe'),
	/** Events after this one are delivered; from the present end by default. */
	afterSeq: optionalField(u64),
	/** Takes the place of the present driver, who keeps watching. */
	takeover: v.nullish(v.boolean(), false),
	/** Size of the driver's terminal. */
	size: optionalField(terminalSize),
});

const attachResult = v.object({
	/** Id to use on this connection; another one than asked for if the session has a process of that id. */
	processId,
	role: processRole,
	/** Number of the oldest event that can be delivered; those between `afterSeq` and it are missing. */
	firstSeq: u64,
	/** Number of the event that comes next. */
	nextSeq: u64,
	rows: v.nullable(v.number()),
	cols: v.nullable(v.number()),
	/** Name of the driver; `null` if there is none. */
	driver: v.nullable(v.string()),
});

const waitForParams = v.object({
	/** Id or name. */
	processId,
	exit: v.nullish(v.boolean(), false),
	/** Regular expression of JavaScript, matched against the output. */
	pattern: optionalField(v.string()),
	/** Flags of the expression: `i`, `m`, `s`, `u` and `v`. Announced by `processWaitForFlags`. */
	patternFlags: optionalField(v.string()),
	/** A program listens on this TCP port of the machine. */
	port: optionalField(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(65_535), v.title('u16'))),
	/** No output for so long. */
	silenceMs: optionalField(u64),
	/** The process waits for input. */
	input: v.nullish(v.boolean(), false),
	/** The pattern is matched against output after this event; from the oldest that is kept by default. */
	afterSeq: optionalField(u64),
	/** Bytes of the event after that one that are not matched either. Announced by `processWaitForFlags`. */
	afterOffset: optionalField(u64),
	timeoutMs: optionalField(u64),
});

/** A place in the output: behind so many bytes of an event. */
const outputPlace = v.object({seq: u64, offset: u64});

const waitForResult = v.object({
	/** Condition that was met; `ended` when none can be met any more. */
	by: v.picklist(['exit', 'pattern', 'port', 'silence', 'input', 'timeout', 'ended']),
	/** Text that matched, and its groups. */
	match: v.optional(
		v.object({
			text: v.string(),
			groups: v.array(v.nullable(v.string())),
			/** The place behind the match. */
			end: v.optional(outputPlace),
			/** The match begins with the part of the output that is matched at once, and there was output before that. */
			isCut: v.optional(v.boolean()),
		}),
	),
	/** Number of the last event that was looked at. */
	seq: u64,
	/** `null` while the process runs, and where its exit is not known. */
	exitCode: v.optional(v.nullable(v.number())),
	reason: v.optional(v.nullable(endReason)),
	/** Kind of input that is waited for. */
	waitingFor: v.optional(awaitedInput),
	/** It looks like it, but the kernel does not tell. */
	isGuess: v.optional(v.boolean()),
});

const screenParams = v.object({
	/** Id or name. */
	processId,
	/** The screen after this event; now by default. */
	atSeq: optionalField(u64),
	/** The screen at this time, in milliseconds since 1970; needs output on disk. */
	atMs: optionalField(v.number()),
	format: v.nullish(v.picklist(['text', 'ansi']), 'text'),
});

const screenResult = v.object({
	rows: v.number(),
	cols: v.number(),
	cursor: v.object({row: v.number(), col: v.number(), isVisible: v.boolean()}),
	/** Whether the alternate screen is shown, as by an editor. */
	alternate: v.boolean(),
	title: v.string(),
	/** From top to bottom; with `ansi`, text with escape sequences for colours. */
	lines: v.array(v.string()),
	/** Number of the last event that is shown. */
	seq: u64,
	/** Output before that is not kept: the screen was drawn without it. */
	missedBytes: v.optional(u64),
});

const logsParams = v.object({
	/** Id or name. */
	processId,
	/** From the oldest that is kept by default. */
	from: optionalField(
		v.union([
			/** Events from this one on. */
			v.object({seq: u64}),
			/** Output from this byte on, over all streams. */
			v.object({byte: u64}),
			/** Events since this time, in milliseconds since 1970. */
			v.object({ms: v.number()}),
			/** The last lines. */
			v.object({tail: u64}),
		]),
	),
	maxBytes: optionalField(u64),
	/** Output of this stream only. */
	stream: optionalField(outputStream),
	/** Lines that match this regular expression only. */
	grep: optionalField(v.string()),
	/** Waits so long for output after the end of the log, if the process has not closed. */
	waitMs: v.nullish(u64, 0),
	/** Adds what was recorded beside the output: sizes of the terminal, input. */
	records: v.nullish(v.boolean(), false),
});

/** An entry of a recording that is no output. */
const recordedEntry = v.variant('kind', [
	v.object({kind: v.literal('resize'), ms: v.number(), rows: v.number(), cols: v.number()}),
	v.object({kind: v.literal('input'), ms: v.number(), chunk: bytes}),
]);

const logsResult = v.object({
	/** `ms` since 1970; `null` for output that is not kept on disk, whose time is not known. */
	chunks: v.array(v.object({seq: u64, stream: outputStream, ms: v.nullable(v.number()), chunk: bytes})),
	/** Only if asked for. */
	records: v.optional(v.array(recordedEntry)),
	/** `from` of the next page. */
	next: v.object({seq: u64, byte: u64}),
	/** Whether there was no more when this page was made. */
	atEnd: v.boolean(),
	/** Bytes from `from` on that are no longer kept; absent when nothing is missing. */
	missedBytes: v.optional(u64),
	closed: v.boolean(),
	exitCode: v.nullable(v.number()),
});

const shareParams = v.object({
	/** Id or name. */
	processId,
	role: v.nullish(processRole, 'observe'),
	/** Time until the token expires. */
	forMs: optionalField(u64),
});

const shareResult = v.object({
	/** Bearer token that is good for this process and role only. */
	token: v.string(),
	processId,
	role: processRole,
	expiresAtMs: v.number(),
	/** Id of the share for `process/unshare`; no secret. Announced by `processUnshare`. */
	shareId: v.optional(v.string()),
});

const sharesParams = v.object({
	/** Id or name; shares of all processes of the client by default. */
	processId: optionalField(processId),
});

const sharesResult = v.object({
	shares: v.array(v.object({shareId: v.string(), processId, role: processRole, expiresAtMs: v.number()})),
});

const named = v.object({
	/** Id or name. */
	processId,
});

const driverName = v.nullable(v.string());

/** Processes that several clients use, one after the other or at once. */
export const SHARED_PROCESS_METHODS = {
	'process/attach': clientRequest({
		family: 'exec',
		scope: 'observe',
		since: 'longarm',
		capability: 'processAttach',
		params: attachParams,
		result: attachResult,
		summary: 'Delivers the events of a process of any session to this client, too, as an observer or as its driver.',
	}),
	'process/detach': clientRequest({
		family: 'exec',
		scope: 'observe',
		since: 'longarm',
		capability: 'processAttach',
		params: v.object({processId}),
		result: empty,
		summary: 'Ends the delivery of events, and leaves the seat of the driver.',
	}),
	'process/waitFor': clientRequest({
		family: 'exec',
		scope: 'observe',
		since: 'longarm',
		capability: 'processWaitFor',
		params: waitForParams,
		result: waitForResult,
		summary: 'Answers when the first of several conditions is met: exit, output, port, silence, input.',
	}),
	'process/screen': clientRequest({
		family: 'exec',
		scope: 'observe',
		since: 'longarm',
		capability: 'processScreen',
		params: screenParams,
		result: screenResult,
		summary: 'The screen of a terminal, now or at a past moment.',
	}),
	'process/logs': clientRequest({
		family: 'exec',
		scope: 'observe',
		since: 'longarm',
		capability: 'processSpill',
		params: logsParams,
		result: logsResult,
		summary: 'Output in pages, also long after the exit and after a restart of the server.',
	}),
	'process/share': clientRequest({
		family: 'exec',
		since: 'longarm',
		capability: 'processShare',
		params: shareParams,
		result: shareResult,
		summary: 'A token for one process and one role, for a while.',
	}),
	'process/shares': clientRequest({
		family: 'exec',
		since: 'longarm',
		capability: 'processUnshare',
		params: sharesParams,
		result: sharesResult,
		summary: 'Tokens that were handed out for processes of the client and are good now, without the tokens themselves.',
	}),
	'process/unshare': clientRequest({
		family: 'exec',
		since: 'longarm',
		capability: 'processUnshare',
		params: v.object({shareId: v.string()}),
		result: v.object({
			/** False if there is no such share, or it is of a process of somebody else. */
			revoked: v.boolean(),
		}),
		summary: 'Revokes a token for one process, and ends its connections.',
	}),
	'process/remove': clientRequest({
		family: 'exec',
		since: 'longarm',
		capability: 'processSpill',
		params: named,
		result: empty,
		summary: 'Forgets a process that has ended, with its output on disk.',
	}),
	'process/attached': serverNotification({
		family: 'exec',
		since: 'longarm',
		params: v.object({processId, client: v.string(), role: processRole}),
		summary: 'Another client has attached.',
	}),
	'process/detached': serverNotification({
		family: 'exec',
		since: 'longarm',
		params: v.object({processId, client: v.string(), role: processRole}),
		summary: 'Another client has left.',
	}),
	'process/driverChanged': serverNotification({
		family: 'exec',
		since: 'longarm',
		params: v.object({
			processId,
			driver: driverName,
			previous: driverName,
			reason: v.picklist(['attached', 'takeover', 'detached', 'disconnected']),
		}),
		summary: 'Another client drives the process, or none.',
	}),
	'process/resized': serverNotification({
		family: 'exec',
		since: 'longarm',
		params: v.object({processId, ...terminalSize.entries}),
		summary: 'The driver has changed the size of the terminal.',
	}),
	'process/gap': serverNotification({
		family: 'exec',
		since: 'longarm',
		params: v.object({processId, afterSeq: u64, throughSeq: u64, missedBytes: u64}),
		summary: 'Events that an attached client has missed and that are no longer kept.',
	}),
} as const;
