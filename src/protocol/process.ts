import * as v from 'valibot';
import {absent, bytes, pathUri, stringMap, u64} from './fields.js';
import {sandboxContext} from './sandbox.js';

const processId = v.string();
export const outputStream = v.picklist(['stdout', 'stderr', 'pty']);
export type OutputStream = v.InferOutput<typeof outputStream>;

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
	envPolicy: absent(environmentPolicy),
	tty: v.boolean(),
	pipeStdin: v.nullish(v.boolean(), false),
	arg0: absent(v.string()),
	sandbox: absent(sandboxContext),
	enforceManagedNetwork: v.nullish(v.boolean(), false),
	managedNetwork: absent(
		v.object({loopbackPorts: v.optional(v.array(u64)), allowLocalBinding: v.optional(v.boolean())}),
	),
	networkProxy: absent(v.looseObject({})),
	shellSnapshot: absent(v.object({scopeId: v.string(), shell: v.object({name: v.string(), path: v.string()})})),
	metadata: absent(v.object({toolCallId: absent(v.string())})),
});

export const startResult = v.object({
	processId,
	sandboxType: v.nullish(v.picklist(['none', 'macosSeatbelt', 'linuxSeccomp', 'windowsRestrictedToken'])),
});

export const readParams = v.object({
	processId,
	afterSeq: v.nullish(u64, 0),
	maxBytes: absent(u64),
	waitMs: v.nullish(u64, 0),
});

export const readResult = v.object({
	chunks: v.array(v.object({seq: u64, stream: outputStream, chunk: bytes})),
	nextSeq: u64,
	exited: v.boolean(),
	exitCode: v.nullable(v.number()),
	closed: v.boolean(),
	failure: v.nullable(v.string()),
	sandboxDenied: v.optional(v.boolean()),
	/** longarm: bytes newer than `afterSeq` that are no longer retained; absent when nothing is missing. */
	missedBytes: v.optional(u64),
});

export const writeParams = v.object({
	processId,
	chunk: bytes,
	/** Absent in the oldest clients: then nothing is deduplicated. */
	writeId: v.optional(v.string()),
});

export const writeResult = v.object({
	status: v.picklist(['accepted', 'unknownProcess', 'stdinClosed', 'starting']),
});

export const signalParams = v.object({processId, signal: v.picklist(['interrupt'])});

export const terminateParams = v.object({processId});
export const terminateResult = v.object({running: v.boolean()});

export const outputParams = v.object({processId, seq: u64, stream: outputStream, chunk: bytes});
export const exitedParams = v.object({
	processId,
	seq: u64,
	exitCode: v.number(),
	sandboxDenied: v.nullish(v.boolean()),
});
export const closedParams = v.object({processId, seq: u64});
