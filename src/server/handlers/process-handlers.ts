import {noTerminalError, toSignal, toTerminationMode} from '../../adapters/process-params.js';
import {describeSnapshot} from '../../adapters/process-snapshot.js';
import {toStartRequest} from '../../adapters/start-request.js';
import type {ManagedProcess} from '../../processes/managed-process.js';
import type {OutputPage} from '../../processes/output/output-log.js';
import {readOutput, waitForExit} from '../../processes/output/read-output.js';
import type {StartRequest} from '../../processes/prepare-spawn.js';
import {findOrphanTrees, listTreeBelow} from '../../processes/tree/kill-tree.js';
import type {ProcessInfo} from '../../processes/tree/process-tree.js';
import type {Params, ResultOnWire} from '../../protocol/methods/method-table.js';
import {encodeWithBytes, type JsonParts} from '../../protocol/wire/encode.js';
import {INVALID_PARAMS, RpcError} from '../../protocol/wire/error-codes.js';
import {LongarmError} from '../../shared/errors.js';
import type {AuditedStart} from '../audit.js';
import type {ClientConnection} from '../connection/client-connection.js';
import type {Handlers} from '../connection/dispatch.js';
import type {ServerSettings} from '../options.js';
import {findPendingPlan, startWhenPlanned} from './pending-plans.js';

const ACCEPTED = {status: 'accepted'} as const;

export const processHandlers = {
	'process/start': async (params, client, {trace}) => {
		const {processId} = params;
		const pending = toStartRequest(params, client.sandbox);
		requireExecAllowed(client.settings, params.prepared ? 'prepared' : 'direct');
		const start = async (request: StartRequest) => ({
			process: await client.session.processes.start(processId, request),
			type: request.sandbox?.type,
		});
		const {process, type} = await (pending instanceof Promise
			? startWhenPlanned(client, processId, pending, start)
			: start(pending));
		const sandboxType = type ?? 'none';
		recordStart(client, {
			session: client.session.id,
			process: processId,
			pid: process.pid,
			argv: params.argv,
			sandbox: sandboxType,
			trace: trace?.traceparent ?? undefined,
		});
		const sandboxEnforcer = type && client.sandbox.enforcerName;
		return {processId, sandboxType, ...(sandboxEnforcer && {sandboxEnforcer})};
	},

	'process/read': ({processId, afterSeq, maxBytes, waitMs}, client) =>
		withProcess(processId, client, process => {
			const request = {afterSeq, maxBytes: maxBytes ?? undefined, waitMs};
			return readOutput(process.log, request, client.lifetime, page => encodePage(process, page));
		}),

	'process/acknowledge': ({processId, seq}, client) => {
		client.session.processes.find(processId)?.log.acknowledge(seq);
		return {};
	},

	'process/write': ({processId, chunk, writeId}, client) => {
		if (writeId === '') throw new RpcError(INVALID_PARAMS, 'writeId must not be empty');
		return withAuditedStart(processId, client, process => {
			if (!process) return {status: 'unknownProcess'};
			if (!process.takesInput) return {status: 'stdinClosed'};
			const queued = process.write(chunk, writeId);
			return queued instanceof Promise ? queued.then(() => ACCEPTED) : ACCEPTED;
		});
	},

	'process/signal': ({processId, signal}, client) => {
		const name = toSignal(signal);
		return withAuditedStart(processId, client, process => {
			process?.signal(name);
			return {};
		});
	},

	'process/terminate': (params, client) => terminateProcess(params, client),

	'process/closeStdin': ({processId}, client) =>
		withProcess(processId, client, process => {
			process.closeStdin();
			return {};
		}),

	'process/resize': ({processId, rows, cols}, client) =>
		withProcess(processId, client, process => {
			if (process.resize({rows, columns: cols})) return {};
			throw noTerminalError(processId);
		}),

	'process/wait': ({processId, timeoutMs}, client) =>
		withProcess(processId, client, async ({log}) => {
			await waitForExit(log, timeoutMs ?? undefined, client.lifetime);
			const {exit} = log;
			return {exitCode: exit?.exitCode ?? null, running: exit === undefined, reason: exit?.reason ?? null};
		}),

	'process/snapshot': ({processId}, client) =>
		withProcess(processId, client, process => encodeWithBytes(describeSnapshot(process))),

	'process/list': (_params, client) => ({processes: [...client.session.processes].map(describeProcess)}),
} satisfies Handlers<ClientConnection>;

/** Enters a start in the audit log, or in the log for whom is interested in everything. */
export function recordStart(client: ClientConnection, started: AuditedStart): void {
	if (client.audit) return client.audit.started(started);
	const {process, pid, argv, trace} = started;
	// Not the arguments: they may hold secrets.
	client.logger.debug('process started', {process, pid, program: argv[0], ...(trace && {trace})});
}

/** Throws for commands of a kind the settings do not allow; `prepared` ones were resolved by the caller's policy. */
export function requireExecAllowed(settings: ServerSettings, kind: 'direct' | 'prepared'): void {
	const {allowDirectExec, allowPreparedExec} = settings;
	if (kind === 'direct' ? allowDirectExec : allowPreparedExec) return;
	throw new LongarmError('EXEC_REFUSED', {
		message: `this server does not start ${kind} commands`,
		context: {kind, allowDirectExec, allowPreparedExec},
	});
}

/**
 * Calls `use` at once, which keeps the order of arrival, or after the start if that is still pending; with undefined if
 * there is no such process or its start failed.
 */
function withAuditedStart<T>(
	processId: string,
	client: ClientConnection,
	use: (process: ManagedProcess | undefined) => T | Promise<T>,
): T | Promise<T> {
	const pending = findPendingPlan(client, processId);
	if (pending) return pending.then(() => withAuditedStart(processId, client, use));
	const process = client.session.processes.find(processId);
	if (process?.state.kind !== 'starting') return use(process);
	return process.started.then(
		() => use(process),
		() => use(undefined),
	);
}

/** Cancels a start that waits for its turn. One that waits for its plan is waited for. */
function terminateProcess(
	params: Params<'process/terminate'>,
	client: ClientConnection,
): ResultOnWire<'process/terminate'> | Promise<ResultOnWire<'process/terminate'>> {
	const pending = findPendingPlan(client, params.processId);
	if (pending) return pending.then(() => terminateProcess(params, client));
	const process = client.session.processes.find(params.processId);
	const {running, survivors} = process?.terminate(toTerminationMode(params.mode)) ?? {running: false, survivors: []};
	if (!(survivors instanceof Promise)) return {running};
	return survivors.then(alive => ({
		running,
		...(alive.length > 0 && {survivors: alive.map(({pid, command}) => ({pid, command}))}),
	}));
}

/** The same, with an error if there is no such process. */
function withProcess<T>(
	processId: string,
	client: ClientConnection,
	use: (process: ManagedProcess) => T | Promise<T>,
): T | Promise<T> {
	return withAuditedStart(processId, client, process => {
		if (process) return use(process);
		throw new LongarmError('PROCESS_UNKNOWN', {message: `unknown process id ${processId}`, context: {processId}});
	});
}

/** The bytes are copied: the log may evict the page before the reply is sent. */
function encodePage(process: ManagedProcess, {chunks, nextSeq, missedBytes}: OutputPage): JsonParts {
	const {exit, closedSeq} = process.log;
	return encodeWithBytes({
		chunks: chunks.map(({seq, stream, bytes}) => ({seq, stream, chunk: Buffer.from(bytes)})),
		nextSeq,
		exited: exit !== undefined,
		exitCode: exit?.exitCode ?? null,
		closed: closedSeq !== undefined,
		failure: null,
		sandboxDenied: exit?.sandboxDenied ?? false,
		...(missedBytes > 0 && {missedBytes}),
	});
}

type Entry = ResultOnWire<'process/list'>['processes'][number];

/** A process as `process/list` shows it. */
export function describeProcess(process: ManagedProcess): Entry {
	const {options, state, log, leader} = process;
	return {
		processId: process.id,
		state: state.kind === 'failed' ? 'closed' : state.kind,
		pid: leader?.pid ?? null,
		argv: [...options.argv],
		tty: options.tty,
		startedAtMs: process.startedAt,
		ageMs: Math.round(process.ageMs),
		outputBytes: log.totalBytes,
		exitCode: log.exit?.exitCode ?? null,
		reason: log.exit?.reason ?? null,
		descendants: leader
			? toDescendants(state.kind === 'running' ? listTreeBelow(leader) : findOrphanTrees(leader))
			: [],
	};
}

function toDescendants(processes: readonly ProcessInfo[]): Entry['descendants'] {
	return processes.map(({pid, parentPid, command}) => ({pid, parentPid, command}));
}
