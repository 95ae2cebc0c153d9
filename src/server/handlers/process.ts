import type {ManagedProcess} from '../../processes/managed-process.js';
import type {Page} from '../../processes/output-log.js';
import {readOutput} from '../../processes/read-output.js';
import type {StartRequest} from '../../processes/start.js';
import {JsonParts} from '../../protocol/encode.js';
import {INVALID_PARAMS, INVALID_REQUEST, RpcError} from '../../protocol/error-codes.js';
import type {Params} from '../../protocol/methods.js';
import type {PathUri} from '../../protocol/path-uri.js';
import type {Handlers} from '../../rpc/router.js';
import {encodeBase64} from '../../shared/base64.js';
import {LongarmError} from '../../shared/errors.js';
import type {ClientConnection} from '../client-connection.js';

const ACCEPTED = {status: 'accepted'} as const;

export const processHandlers = {
	'process/start': async (params, {session}) => {
		const {processId} = params;
		await session.processes.start(processId, toStartRequest(params));
		return {processId, sandboxType: 'none'};
	},

	'process/read': ({processId, afterSeq, maxBytes, waitMs}, {session, scope}) =>
		whenStarted(session.processes.find(processId), process => {
			if (!process) throw unknownProcess(processId);
			const request = {afterSeq, maxBytes: maxBytes ?? undefined, waitMs};
			return readOutput(process.log, request, scope, page => encodePage(process, page));
		}),

	'process/write': ({processId, chunk, writeId}, {session}) => {
		if (writeId === '') throw new RpcError(INVALID_PARAMS, 'writeId must not be empty');
		return whenStarted(session.processes.find(processId), process => {
			if (!process) return {status: 'unknownProcess'};
			if (!process.hasStdin) return {status: 'stdinClosed'};
			const queued = process.write(chunk, writeId);
			return queued instanceof Promise ? queued.then(() => ACCEPTED) : ACCEPTED;
		});
	},

	'process/signal': ({processId}, {session}) =>
		whenStarted(session.processes.find(processId), process => {
			process?.signal('SIGINT');
			return {};
		}),

	'process/terminate': ({processId}, {session}) => {
		return {running: session.processes.find(processId)?.terminate() ?? false};
	},
} satisfies Handlers<ClientConnection>;

function toStartRequest(params: Params<'process/start'>): StartRequest {
	if (params.argv.length === 0) throw new RpcError(INVALID_PARAMS, 'argv must not be empty');
	const cwd = nativeDirectory(params.cwd);
	refuseUnsupported(params);
	return {
		argv: params.argv,
		arg0: params.arg0 ?? undefined,
		cwd,
		env: params.env,
		environmentPolicy: params.envPolicy ?? undefined,
		tty: params.tty,
		pipeStdin: params.pipeStdin,
	};
}

function nativeDirectory(uri: PathUri): Uint8Array {
	try {
		return uri.toNativeBytes(process.platform);
	} catch (error) {
		const reason = error instanceof Error ? error.message : String(error);
		throw new RpcError(INVALID_PARAMS, `cwd URI \`${uri.href}\` is not valid on this exec-server host: ${reason}`);
	}
}

/** What cannot be enforced is refused, never left out silently. */
function refuseUnsupported({sandbox, networkProxy}: Params<'process/start'>): void {
	if (sandbox) {
		throw new LongarmError('NOT_SUPPORTED', {message: 'sandbox intent cannot be enforced on this executor'});
	}
	if (networkProxy) {
		throw new LongarmError('NOT_SUPPORTED', {message: 'network proxies are not supported by this executor'});
	}
}

/**
 * Uses a process at once, in the order of arrival, or, behind a start that has not had its turn yet, after that; a
 * start that failed left nothing.
 */
function whenStarted<T>(
	process: ManagedProcess | undefined,
	use: (process: ManagedProcess | undefined) => T | Promise<T>,
): T | Promise<T> {
	if (process?.state.kind !== 'starting') return use(process);
	return process.started.then(
		() => use(process),
		() => use(undefined),
	);
}

function unknownProcess(processId: string): RpcError {
	return new RpcError(INVALID_REQUEST, `unknown process id ${processId}`);
}

/** The bytes are encoded here and now, while the page is valid. */
function encodePage(process: ManagedProcess, {chunks, nextSeq, missedBytes}: Page): JsonParts {
	const {exit, closedSeq} = process.log;
	const parts: string[] = [];
	let before = '{"chunks":[';
	for (const {seq, stream, bytes} of chunks) {
		parts.push(`${before}{"seq":${seq},"stream":"${stream}","chunk":"`, encodeBase64(bytes));
		before = '"},';
	}
	const rest = JSON.stringify({
		nextSeq,
		exited: exit !== undefined,
		exitCode: exit?.exitCode ?? null,
		closed: closedSeq !== undefined,
		failure: null,
		sandboxDenied: false,
		...(missedBytes > 0 && {missedBytes}),
	});
	parts.push(`${chunks.length > 0 ? '"}' : before}],${rest.slice(1)}`);
	return new JsonParts(parts);
}
