import {noTerminalError, toSignal, toTerminationMode} from '../../adapters/process-params.js';
import {describeSnapshot} from '../../adapters/process-snapshot.js';
import {toStartRequest} from '../../adapters/start-request.js';
import type {ManagedProcess} from '../../processes/managed-process.js';
import type {OutputPage} from '../../processes/output/output-log.js';
import {readOutput, waitForExit} from '../../processes/output/read-output.js';
import type {StartRequest} from '../../processes/prepare-spawn.js';
import type {Params, ResultOnWire} from '../../protocol/methods/method-table.js';
import {encodeWithBytes, type JsonParts} from '../../protocol/wire/encode.js';
import {INVALID_PARAMS, RpcError} from '../../protocol/wire/error-codes.js';
import {base64Length} from '../../shared/base64.js';
import {LongarmError} from '../../shared/errors.js';
import type {ClientConnection} from '../connection/client-connection.js';
import type {Handlers} from '../connection/dispatch.js';
import {isOwner, notOwnerError} from '../sharing/process-access.js';
import {startDurable} from './durable-start.js';
import {findPendingPlan, startWhenPlanned} from './pending-plans.js';
import {withShellSnapshot} from './snapshot-start.js';
import {recordStart, requireExecAllowed, requireLastingServer} from './start-rules.js';

const ACCEPTED = {status: 'accepted'} as const;

export const processHandlers = {
	'process/start': async (params, client, asked) => {
		const {processId} = params;
		const {trace} = asked;
		requireLastingServer(client.settings, params);
		if (params.durable) return startDurable(params, client, asked);
		const pending = toStartRequest(params, client.sandbox);
		requireExecAllowed(client.settings, params.prepared ? 'prepared' : 'direct');
		const start = async (request: StartRequest) => ({
			process: await startProcess(client, processId, withShellSnapshot(request, client)),
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
			const render = (page: OutputPage): JsonParts => {
				const reply = encodePage(process, page);
				process.log.catchUp(afterSeq, page.nextSeq);
				return reply;
			};
			return readOutput(process.log, request, client.lifetime, render, (bytes, make) =>
				client.flow.reserveReply(base64Length(bytes), make),
			);
		}),

	'process/acknowledge': ({processId, seq}, client) => {
		const process = client.session.find(processId);
		if (process && client.session.drives(process)) process.log.acknowledge(seq);
		return {};
	},

	'process/write': ({processId, chunk, writeId, strict}, client) => {
		if (writeId === '') throw new RpcError(INVALID_PARAMS, 'writeId must not be empty');
		return withAuditedStart(processId, client, process => {
			if (!process) return {status: 'unknownProcess'};
			requireDriver(client, process);
			if (!process.takesInput || (strict && process.losesInput(writeId))) return {status: 'stdinClosed'};
			const queued = process.write(chunk, writeId);
			return queued instanceof Promise ? queued.then(() => ACCEPTED) : ACCEPTED;
		});
	},

	'process/signal': ({processId, signal}, client) => {
		const name = toSignal(signal);
		return withAuditedStart(processId, client, process => {
			if (process) requireDriver(client, process);
			process?.signal(name);
			return {};
		});
	},

	'process/terminate': (params, client) => terminateProcess(params, client),

	'process/closeStdin': ({processId}, client) =>
		withProcess(processId, client, process => {
			requireDriver(client, process);
			process.closeStdin();
			return {};
		}),

	'process/resize': ({processId, rows, cols}, client) =>
		withProcess(processId, client, process => {
			requireDriver(client, process);
			if (!process.resize({rows, columns: cols})) throw noTerminalError(processId);
			client.session.findShared(process)?.tellResized(rows, cols);
			return {};
		}),

	'process/wait': ({processId, timeoutMs}, client) =>
		withProcess(processId, client, async ({log}) => {
			await waitForExit(log, timeoutMs ?? undefined, client.lifetime);
			const {exit} = log;
			return {
				exitCode: exit?.exitCode ?? null,
				running: exit === undefined && log.closedSeq === undefined,
				reason: exit?.reason ?? null,
			};
		}),

	'process/snapshot': ({processId}, client) =>
		withProcess(processId, client, process => encodeWithBytes(describeSnapshot(process))),
} satisfies Handlers<ClientConnection>;

/** One that outlives its session belongs to the server; all others to the session. */
function startProcess(client: ClientConnection, id: string, request: StartRequest): Promise<ManagedProcess> {
	const {session, registry} = client;
	if (request.outlivesSession) return registry.startKept(client, id, request);
	if (request.sharing || request.spill) registry.requireFree(id, request, client);
	return session.processes.start(id, request);
}

/** Throws `NOT_DRIVER` with the name of the driver. */
function requireDriver({session, registry}: ClientConnection, process: ManagedProcess): void {
	if (!session.drives(process)) throw registry.share(process).notDriverError();
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
	const process = client.session.find(processId);
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
	const process = client.session.find(params.processId);
	if (process && !client.session.drives(process) && !isOwner(process, client.grant)) throw notOwnerError(process.id);
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
function encodePage(process: ManagedProcess, {chunks, nextSeq, missedBytes, isCut}: OutputPage): JsonParts {
	const {exit, closedSeq} = process.log;
	// A page that had to be cut tells nothing of what comes behind it.
	const isTold = (seq: number | undefined): boolean => seq !== undefined && (!isCut || seq < nextSeq);
	return encodeWithBytes({
		chunks: chunks.map(({seq, stream, bytes}) => ({seq, stream, chunk: Buffer.from(bytes)})),
		nextSeq,
		exited: isTold(exit?.seq),
		exitCode: isTold(exit?.seq) ? exit!.exitCode : null,
		closed: isTold(closedSeq),
		failure: null,
		sandboxDenied: exit?.sandboxDenied ?? false,
		...(missedBytes > 0 && {missedBytes}),
		...(isCut && {more: true}),
	});
}
