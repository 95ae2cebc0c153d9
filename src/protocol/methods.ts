import type * as v from 'valibot';
import * as discovery from './discovery.js';
import * as environment from './environment.js';
import {anything, empty, type Schema, unit} from './fields.js';
import * as files from './files.js';
import * as http from './http.js';
import * as network from './network-policy.js';
import * as process from './process.js';
import * as session from './session.js';
import * as v0 from './v0.js';

/** The protocol of the peer in which a method first appeared. */
export type Since = 'v0' | 'v1' | '2026-06' | '2026-07' | '2026-08' | '0.166' | 'longarm';

/** How a method's group is called in the errors about the handshake; `handshake` methods need none. */
export type Family =
	| 'handshake'
	| 'exec'
	| 'filesystem'
	| 'http'
	| 'environment info'
	| 'environment status'
	| 'environment config'
	| 'capability discovery'
	| 'network policy';

interface Declaration {
	readonly kind: 'request' | 'notification';
	/** Who sends it. */
	readonly from: 'client' | 'server';
	readonly family: Family;
	readonly since: Since;
	readonly params: Schema;
	readonly result: Schema;
	readonly summary: string;
}

type Details = Omit<Declaration, 'kind' | 'from' | 'result'>;

const call = <const D extends Details & {result: Schema}>(details: D) =>
	({kind: 'request', from: 'client', ...details}) as const;
const ask = <const D extends Details & {result: Schema}>(details: D) =>
	({kind: 'request', from: 'server', ...details}) as const;
const tell = <const D extends Details>(details: D) =>
	({kind: 'notification', from: 'client', result: empty, ...details}) as const;
const report = <const D extends Details>(details: D) =>
	({kind: 'notification', from: 'server', result: empty, ...details}) as const;

/**
 * Every method and notification of the wire, once. Types, validation, routing, the handshake errors and
 * `docs/protocol.md` all come from this table.
 */
export const METHODS = {
	initialize: call({
		family: 'handshake',
		since: 'v0',
		params: session.initializeParams,
		result: session.initializeResult,
		summary: 'Opens a session, or resumes a detached one.',
	}),
	initialized: tell({
		family: 'handshake',
		since: 'v0',
		params: anything,
		summary: 'Ends the handshake; everything else is refused before it.',
	}),

	'environment/info': call({
		family: 'environment info',
		since: '2026-06',
		params: unit,
		result: environment.environmentInfo,
		summary: 'What the executor is: shell, directories, version, capabilities.',
	}),
	'environment/status': call({
		family: 'environment status',
		since: '2026-07',
		params: unit,
		result: environment.environmentStatus,
		summary: 'That the executor is there.',
	}),
	'environmentConfig/read': call({
		family: 'environment config',
		since: '2026-08',
		params: environment.environmentConfigReadParams,
		result: environment.environmentConfigReadResult,
		summary: "Selected keys of the executor's own configuration files.",
	}),
	'capabilityRoots/discoverV1': call({
		family: 'capability discovery',
		since: '2026-07',
		params: discovery.discoverV1Params,
		result: discovery.discoverV1Result,
		summary: 'Plugins and skills below the given directories.',
	}),
	'capabilities/discoverV2': call({
		family: 'capability discovery',
		since: '0.166',
		params: discovery.discoverV2Params,
		result: discovery.discoverV2Result,
		summary: "Plugins and skills installed for the executor's user.",
	}),

	'process/start': call({
		family: 'exec',
		since: 'v1',
		params: process.startParams,
		result: process.startResult,
		summary: 'Starts a program on pipes or on a terminal.',
	}),
	'process/read': call({
		family: 'exec',
		since: 'v1',
		params: process.readParams,
		result: process.readResult,
		summary: 'Retained output after a cursor; can wait for more.',
	}),
	'process/write': call({
		family: 'exec',
		since: 'v1',
		params: process.writeParams,
		result: process.writeResult,
		summary: 'Bytes for the standard input, each writeId once.',
	}),
	'process/signal': call({
		family: 'exec',
		since: '2026-06',
		params: process.signalParams,
		result: empty,
		summary: 'A signal for the process group.',
	}),
	'process/terminate': call({
		family: 'exec',
		since: 'v1',
		params: process.terminateParams,
		result: process.terminateResult,
		summary: 'Ends the process and everything below it.',
	}),
	'process/closeStdin': call({
		family: 'exec',
		since: 'longarm',
		params: process.processParams,
		result: empty,
		summary: 'End of input: closes the pipe, or types the end-of-file character on a terminal.',
	}),
	'process/resize': call({
		family: 'exec',
		since: 'longarm',
		params: process.resizeParams,
		result: empty,
		summary: 'Sets the size of the terminal.',
	}),
	'process/wait': call({
		family: 'exec',
		since: 'longarm',
		params: process.waitParams,
		result: process.waitResult,
		summary: 'Answers when the process has exited.',
	}),
	'process/snapshot': call({
		family: 'exec',
		since: 'longarm',
		params: process.processParams,
		result: process.snapshotResult,
		summary: 'Head and tail of every stream, with true totals.',
	}),
	'process/list': call({
		family: 'exec',
		since: 'longarm',
		params: unit,
		result: process.listResult,
		summary: 'Every process of the session and what runs below it.',
	}),
	'process/output': report({
		family: 'exec',
		since: 'v1',
		params: process.outputParams,
		summary: 'A chunk of output.',
	}),
	'process/exited': report({
		family: 'exec',
		since: 'v1',
		params: process.exitedParams,
		summary: 'The process has ended; output may still follow.',
	}),
	'process/closed': report({
		family: 'exec',
		since: 'v1',
		params: process.closedParams,
		summary: 'The process has ended and so has all its output; always the last event.',
	}),

	'command/exec': call({
		family: 'exec',
		since: 'v0',
		params: v0.execParams,
		result: v0.execResult,
		summary: 'First protocol: starts a program that ends with the connection.',
	}),
	'command/exec/write': call({
		family: 'exec',
		since: 'v0',
		params: v0.execWriteParams,
		result: v0.execWriteResult,
		summary: 'First protocol: bytes for a terminal.',
	}),
	'command/exec/terminate': call({
		family: 'exec',
		since: 'v0',
		params: v0.execTerminateParams,
		result: v0.execTerminateResult,
		summary: 'First protocol: ends a program.',
	}),
	'command/exec/outputDelta': report({
		family: 'exec',
		since: 'v0',
		params: v0.outputDeltaParams,
		summary: 'First protocol: a chunk of output.',
	}),
	'command/exec/exited': report({
		family: 'exec',
		since: 'v0',
		params: v0.execExitedParams,
		summary: 'First protocol: the program has ended; output may still follow.',
	}),

	'fs/readFile': call({
		family: 'filesystem',
		since: 'v1',
		params: files.readFileParams,
		result: files.readFileResult,
		summary: 'A whole regular file.',
	}),
	'fs/writeFile': call({
		family: 'filesystem',
		since: 'v1',
		params: files.writeFileParams,
		result: empty,
		summary: 'Creates or replaces a file.',
	}),
	'fs/open': call({
		family: 'filesystem',
		since: '2026-06',
		params: files.openParams,
		result: files.openResult,
		summary: 'A handle for block reads or writes, owned by the connection.',
	}),
	'fs/readBlock': call({
		family: 'filesystem',
		since: '2026-06',
		params: files.readBlockParams,
		result: files.readBlockResult,
		summary: 'A block at an offset.',
	}),
	'fs/writeBlock': call({
		family: 'filesystem',
		since: '0.166',
		params: files.writeBlockParams,
		result: files.writeBlockResult,
		summary: 'Writes a block at an offset.',
	}),
	'fs/close': call({
		family: 'filesystem',
		since: '2026-06',
		params: files.closeParams,
		result: empty,
		summary: 'Closes a handle.',
	}),
	'fs/createDirectory': call({
		family: 'filesystem',
		since: 'v1',
		params: files.createDirectoryParams,
		result: empty,
		summary: 'Creates a directory.',
	}),
	'fs/getMetadata': call({
		family: 'filesystem',
		since: 'v1',
		params: files.getMetadataParams,
		result: files.getMetadataResult,
		summary: 'Kind, size and times of a path.',
	}),
	'fs/canonicalize': call({
		family: 'filesystem',
		since: '2026-06',
		params: files.canonicalizeParams,
		result: files.canonicalizeResult,
		summary: 'The path without links.',
	}),
	'fs/readDirectory': call({
		family: 'filesystem',
		since: 'v1',
		params: files.readDirectoryParams,
		result: files.readDirectoryResult,
		summary: 'The direct children of a directory.',
	}),
	'fs/walk': call({
		family: 'filesystem',
		since: '2026-06',
		params: files.walkParams,
		result: files.walkResult,
		summary: 'A tree, breadth first, within limits.',
	}),
	'fs/remove': call({
		family: 'filesystem',
		since: 'v1',
		params: files.removeParams,
		result: empty,
		summary: 'Removes a file, a link or a tree.',
	}),
	'fs/copy': call({
		family: 'filesystem',
		since: 'v1',
		params: files.copyParams,
		result: empty,
		summary: 'Copies a file, a link or a tree.',
	}),
	'fs/watchMissing': call({
		family: 'filesystem',
		since: '0.166',
		params: files.watchMissingParams,
		result: files.watchMissingResult,
		summary: 'Tells once when one of these paths appears.',
	}),
	'fs/missingChanged': report({
		family: 'filesystem',
		since: '0.166',
		params: files.missingChangedParams,
		summary: 'A watched path appeared.',
	}),
	'fs/rename': call({
		family: 'filesystem',
		since: 'longarm',
		params: files.renameParams,
		result: empty,
		summary: 'Moves a file, a link or a directory within its file system.',
	}),
	'fs/pack': call({
		family: 'filesystem',
		since: 'longarm',
		params: files.packParams,
		result: files.packResult,
		summary: 'A handle to read a whole tree from, as one tar stream.',
	}),
	'fs/unpack': call({
		family: 'filesystem',
		since: 'longarm',
		params: files.unpackParams,
		result: files.openResult,
		summary: 'A handle to write a tar stream to, which becomes a tree.',
	}),
	'fs/finish': call({
		family: 'filesystem',
		since: 'longarm',
		params: files.finishParams,
		result: files.finishResult,
		summary: 'Ends a transfer: what it held, its checksum, what could not be taken along.',
	}),
	'fs/watch': call({
		family: 'filesystem',
		since: 'longarm',
		params: files.watchParams,
		result: empty,
		summary: 'Tells of every change below a path until it is told to stop.',
	}),
	'fs/unwatch': call({
		family: 'filesystem',
		since: 'longarm',
		params: files.unwatchParams,
		result: empty,
		summary: 'Ends a watch.',
	}),
	'fs/changed': report({
		family: 'filesystem',
		since: 'longarm',
		params: files.changedParams,
		summary: 'Changes since the last one; an overflow means that some are unknown.',
	}),
	'fs/search': call({
		family: 'filesystem',
		since: 'longarm',
		params: files.searchParams,
		result: files.searchResult,
		summary: 'Looks for names and contents; answers when it is through.',
	}),
	'fs/searchCancel': call({
		family: 'filesystem',
		since: 'longarm',
		params: files.searchCancelParams,
		result: empty,
		summary: 'Ends a search.',
	}),
	'fs/searchMatches': report({
		family: 'filesystem',
		since: 'longarm',
		params: files.searchMatchesParams,
		summary: 'What a search has found since the last one.',
	}),

	'http/request': call({
		family: 'http',
		since: 'v1',
		params: http.httpRequestParams,
		result: http.httpRequestResult,
		summary: "An HTTP request from the executor's place in the network.",
	}),
	'http/request/bodyDelta': report({
		family: 'http',
		since: 'v1',
		params: http.httpBodyDeltaParams,
		summary: 'A piece of a streamed response body.',
	}),
	'http/cancel': call({
		family: 'http',
		since: 'longarm',
		params: http.httpCancelParams,
		result: empty,
		summary: 'Gives up a request, streaming or not.',
	}),
	'forward/open': call({
		family: 'http',
		since: 'longarm',
		params: http.forwardOpenParams,
		result: empty,
		summary: 'A TCP connection to a port as the executor sees it.',
	}),
	'forward/read': call({
		family: 'http',
		since: 'longarm',
		params: http.forwardReadParams,
		result: http.forwardReadResult,
		summary: 'What has arrived from the port; waits for it.',
	}),
	'forward/write': call({
		family: 'http',
		since: 'longarm',
		params: http.forwardWriteParams,
		result: empty,
		summary: 'Bytes for the port; eof closes this direction.',
	}),
	'forward/close': call({
		family: 'http',
		since: 'longarm',
		params: http.forwardCloseParams,
		result: empty,
		summary: 'Ends a forwarded connection at once.',
	}),

	'network/policyRequest': ask({
		family: 'network policy',
		since: '2026-08',
		params: network.policyRequestParams,
		result: network.policyRequestResult,
		summary: 'Whether a process may open a connection.',
	}),
	'network/policyDecision': report({
		family: 'network policy',
		since: '2026-08',
		params: network.policyDecisionParams,
		summary: 'What was decided about a connection.',
	}),
} as const satisfies Record<string, Declaration>;

export type Methods = typeof METHODS;
export type MethodName = keyof Methods;

type Named<Kind extends Declaration['kind'], From extends Declaration['from']> = {
	[M in MethodName]: Methods[M] extends {kind: Kind; from: From} ? M : never;
}[MethodName];

/** Requests a client sends. */
export type RequestName = Named<'request', 'client'>;
/** Requests a server sends. */
export type ServerRequestName = Named<'request', 'server'>;
/** Notifications a server sends. */
export type NotificationName = Named<'notification', 'server'>;

/** Params as the receiver sees them: decoded, with defaults. */
export type Params<M extends MethodName> = v.InferOutput<Methods[M]['params']>;
/** Params as the sender writes them. */
export type ParamsOnWire<M extends MethodName> = v.InferInput<Methods[M]['params']>;
/** Result as the receiver sees it. */
export type Result<M extends MethodName> = v.InferOutput<Methods[M]['result']>;
/** Result as the sender writes it. */
export type ResultOnWire<M extends MethodName> = v.InferInput<Methods[M]['result']>;

export function declarationOf(method: string): Declaration | undefined {
	return Object.hasOwn(METHODS, method) ? METHODS[method as MethodName] : undefined;
}
