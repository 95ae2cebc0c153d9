import * as v from 'valibot';
import {bytes, empty, optionalField, pathUri, stringMap, u64} from '../wire/fields.js';
import {type Capabilities, clientRequest, serverNotification} from './declare-method.js';
import {sandboxContext} from './sandbox-params.js';
import {listedSharing, sharingParams} from './sharing-params.js';

export const processId = v.string();
export const outputStream = v.picklist(['stdout', 'stderr', 'pty']);
/** Stream of a process that output came from; a terminal has one for both. */
export type OutputStream = v.InferOutput<typeof outputStream>;

const dimension = v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(65_535), v.title('u16'));
export const terminalSize = v.object({rows: dimension, cols: dimension});

export const environmentPolicy = v.object({
	inherit: v.picklist(['core', 'all', 'none']),
	ignoreDefaultExcludes: v.boolean(),
	exclude: v.array(v.string()),
	set: stringMap,
	includeOnly: v.array(v.string()),
});
export type EnvironmentPolicy = v.InferOutput<typeof environmentPolicy>;

export const startParams = v.object({
	processId,
	argv: v.array(v.string()),
	cwd: pathUri,
	env: stringMap,
	envPolicy: optionalField(environmentPolicy),
	tty: v.boolean(),
	pipeStdin: v.nullish(v.boolean(), false),
	arg0: optionalField(v.string()),
	sandbox: optionalField(sandboxContext),
	enforceManagedNetwork: v.nullish(v.boolean(), false),
	managedNetwork: optionalField(
		v.object({loopbackPorts: v.optional(v.array(u64)), allowLocalBinding: v.optional(v.boolean())}),
	),
	networkProxy: optionalField(v.looseObject({})),
	shellSnapshot: optionalField(v.object({scopeId: v.string(), shell: v.object({name: v.string(), path: v.string()})})),
	metadata: optionalField(v.object({threadId: optionalField(v.string()), toolCallId: optionalField(v.string())})),
	/** longarm: replaces `tty` and `pipeStdin`, and holds the size of the terminal. */
	io: optionalField(
		v.union([v.object({pty: terminalSize}), v.object({pipe: v.object({stdin: v.picklist(['open', 'closed'])})})]),
	),
	/** longarm: the process and all below it are ended after this time, also after its exit; output so far is kept. */
	timeoutMs: optionalField(u64),
	/** longarm: the caller's policy has already resolved this command. */
	prepared: v.nullish(v.boolean(), false),
	/**
	 * longarm: lifetime of the process after its session loses the connection; `keep` outlives the session, too. With
	 * `keepForMs` it is not ended while another client is attached to it.
	 */
	onDisconnect: optionalField(
		v.union([v.picklist(['endWithSession', 'endAtOnce', 'keep']), v.object({keepForMs: u64})]),
	),
	/** longarm: output is kept until `process/acknowledge`, and the process paused when too much is, also while detached. */
	acknowledged: v.nullish(v.boolean(), false),
	...sharingParams.entries,
});

const startResult = v.object({
	processId,
	sandboxType: v.nullish(v.picklist(['none', 'macosSeatbelt', 'linuxSeccomp', 'windowsRestrictedToken'])),
	/** longarm: what enforces the sandbox on Linux, such as `bubblewrap`. */
	sandboxEnforcer: v.optional(v.string()),
});

const readParams = v.object({
	processId,
	afterSeq: v.nullish(u64, 0),
	maxBytes: optionalField(u64),
	waitMs: v.nullish(u64, 0),
});

const readResult = v.object({
	chunks: v.array(v.object({seq: u64, stream: outputStream, chunk: bytes})),
	nextSeq: u64,
	exited: v.boolean(),
	exitCode: v.nullable(v.number()),
	closed: v.boolean(),
	failure: v.nullable(v.string()),
	sandboxDenied: v.optional(v.boolean()),
	/** longarm: bytes newer than `afterSeq` that are no longer retained; absent when nothing is missing. */
	missedBytes: v.optional(u64),
	/** longarm: there is more on disk than one reply holds; what comes from `nextSeq` on is not told by this one. */
	more: v.optional(v.boolean()),
});

const writeParams = v.object({
	processId,
	chunk: bytes,
	/** Absent in the oldest clients: then nothing is deduplicated. */
	writeId: v.optional(v.string()),
	/** longarm: `stdinClosed` also if the process has exited or closed its input; otherwise such bytes are accepted and lost. */
	strict: v.nullish(v.boolean(), false),
});

const writeResult = v.object({
	status: v.picklist(['accepted', 'unknownProcess', 'stdinClosed', 'starting']),
});

/** Upstream knows `interrupt`; the object form is longarm's and takes any signal, with or without `SIG`. */
const signalParams = v.object({
	processId,
	signal: v.union([v.picklist(['interrupt']), v.object({name: v.string()})]),
});

const terminateParams = v.object({
	processId,
	/**
	 * longarm: ask first and kill after the time, or kill at once (the default, as upstream does). With a mode, what an exited
	 * process has left behind is ended, too, and its streams are closed.
	 */
	mode: optionalField(v.union([v.literal('force'), v.object({graceful: v.object({timeoutMs: u64})})])),
});
const terminateResult = v.object({
	running: v.boolean(),
	/** longarm: processes of the tree that could not be ended; absent when there are none. */
	survivors: v.optional(v.array(v.object({pid: v.number(), command: v.string()}))),
});

const processParams = v.object({processId});

const acknowledgeParams = v.object({
	processId,
	/** Everything up to this event has been taken; a number that no event has yet: nothing need be kept any more. */
	seq: u64,
});

const resizeParams = v.object({processId, ...terminalSize.entries});

/** Why a process ended: by itself, by a signal from elsewhere, by `process/terminate`, or by its time limit. */
export const endReason = v.picklist(['exit', 'signal', 'terminated', 'timeout']);
export type EndReason = v.InferOutput<typeof endReason>;

const waitParams = v.object({
	processId,
	/** Answer after this time although the process still runs. */
	timeoutMs: optionalField(u64),
});
const waitResult = v.object({
	/** `null` while the process runs. */
	exitCode: v.nullable(v.number()),
	running: v.boolean(),
	reason: v.nullable(endReason),
});

const streamTotals = v.object({stdout: u64, stderr: u64, terminal: u64});
const snapshotResult = v.object({
	stdout: bytes,
	stderr: bytes,
	terminal: bytes,
	/** Bytes between head and tail of a stream are missing. */
	truncated: v.boolean(),
	exitCode: v.nullable(v.number()),
	running: v.boolean(),
	reason: v.nullable(endReason),
	/** Bytes the process has written, kept or not. */
	totalBytes: streamTotals,
	/** Position and size of the gap in each stream: `omittedBytes` are missing after the first `headBytes`. */
	headBytes: streamTotals,
	omittedBytes: streamTotals,
});

const listFilter = v.object({
	/** longarm: of all sessions that this client may look at, those that outlive their session included. */
	all: v.nullish(v.boolean(), false),
	/** longarm: only processes with all of these labels. */
	labels: optionalField(stringMap),
	/** longarm: with `all`, ended processes whose output is kept on disk, too. */
	includeEnded: v.nullish(v.boolean(), false),
});
type ListParams = v.InferInput<typeof listFilter>;

/** Optional members, none of them by position: upstream's servers take no params for methods like this one. */
const listParams = v.pipe(
	v.custom<ListParams | null | undefined>(input => !Array.isArray(input), 'invalid type, expected no params'),
	v.nullish(listFilter, {}),
	v.title('{all?: boolean; labels?: Record<string, string>; includeEnded?: boolean}'),
);

const listResult = v.object({
	processes: v.array(
		v.object({
			processId,
			/** `lost`: it went down with the server or the keeper that ran it, and how it ended is not known. */
			state: v.picklist(['starting', 'running', 'exited', 'closed', 'lost']),
			/** `null` before it was spawned. */
			pid: v.nullable(v.number()),
			argv: v.array(v.string()),
			tty: v.boolean(),
			startedAtMs: v.number(),
			ageMs: v.number(),
			outputBytes: u64,
			exitCode: v.nullable(v.number()),
			reason: v.nullable(endReason),
			/** Living processes below it, whatever session or group they moved to. */
			descendants: v.array(v.object({pid: v.number(), parentPid: v.number(), command: v.string()})),
			...listedSharing.entries,
		}),
	),
});

const outputParams = v.object({processId, seq: u64, stream: outputStream, chunk: bytes});
const exitedParams = v.object({
	processId,
	seq: u64,
	exitCode: v.number(),
	sandboxDenied: v.nullish(v.boolean()),
	/** longarm: absent when the process ended by itself. */
	reason: v.optional(endReason),
});
const closedParams = v.object({processId, seq: u64});

export const PROCESS_CAPABILITIES: Capabilities = {
	processIo: true,
	processTimeLimit: true,
	processSignalByName: true,
	processTerminateMode: true,
	processOnDisconnect: true,
	processPrepared: true,
	processDurable: true,
	processRecord: true,
	processWaitForFlags: true,
	shellSnapshotV2: true,
	// Capabilities of upstream that this server does not have.
	credentialMasking: false,
	credentialMaskingCustomProviders: false,
	windowsMxc: false,
	linuxRootWritePreservesDevices: false,
	linuxApprovedRootWritePreservesRestrictions: false,
};

/** Processes of a session. */
export const PROCESS_METHODS = {
	'process/start': clientRequest({
		family: 'exec',
		since: 'v1',
		params: startParams,
		result: startResult,
		summary: 'Starts a program on pipes or on a terminal.',
	}),
	'process/read': clientRequest({
		family: 'exec',
		scope: 'observe',
		since: 'v1',
		params: readParams,
		result: readResult,
		summary: 'Retained output after a cursor; can wait for more.',
	}),
	'process/acknowledge': clientRequest({
		family: 'exec',
		since: 'longarm',
		capability: 'processAcknowledge',
		params: acknowledgeParams,
		result: empty,
		summary: 'Output that was taken and need not be kept; due every 128 KiB or 128 events.',
	}),
	'process/write': clientRequest({
		family: 'exec',
		since: 'v1',
		params: writeParams,
		result: writeResult,
		summary: 'Bytes for the standard input, each writeId once.',
	}),
	'process/signal': clientRequest({
		family: 'exec',
		since: '2026-06',
		params: signalParams,
		result: empty,
		summary: 'A signal for the process group.',
	}),
	'process/terminate': clientRequest({
		family: 'exec',
		since: 'v1',
		params: terminateParams,
		result: terminateResult,
		summary: 'Ends the process and everything below it.',
	}),
	'process/closeStdin': clientRequest({
		family: 'exec',
		since: 'longarm',
		capability: 'processCloseStdin',
		params: processParams,
		result: empty,
		summary: 'End of input: closes the pipe, or types the end-of-file character on a terminal.',
	}),
	'process/resize': clientRequest({
		family: 'exec',
		since: 'longarm',
		capability: 'processResize',
		params: resizeParams,
		result: empty,
		summary: 'Sets the size of the terminal.',
	}),
	'process/wait': clientRequest({
		family: 'exec',
		scope: 'observe',
		since: 'longarm',
		capability: 'processWait',
		params: waitParams,
		result: waitResult,
		summary: 'Answers when the process has exited.',
	}),
	'process/snapshot': clientRequest({
		family: 'exec',
		scope: 'observe',
		since: 'longarm',
		capability: 'processSnapshot',
		params: processParams,
		result: snapshotResult,
		summary: 'Head and tail of every stream, with true totals.',
	}),
	'process/list': clientRequest({
		family: 'exec',
		scope: 'observe',
		since: 'longarm',
		capability: 'processList',
		params: listParams,
		result: listResult,
		summary: 'Every process of the session, or of all sessions, and what runs below it.',
	}),
	'process/output': serverNotification({
		family: 'exec',
		since: 'v1',
		params: outputParams,
		summary: 'A chunk of output.',
	}),
	'process/exited': serverNotification({
		family: 'exec',
		since: 'v1',
		params: exitedParams,
		summary: 'The process has ended; output may still follow.',
	}),
	'process/closed': serverNotification({
		family: 'exec',
		since: 'v1',
		params: closedParams,
		summary: 'The process has ended and so has all its output; always the last event.',
	}),
} as const;
