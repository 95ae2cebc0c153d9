import {RpcError, SESSION_ATTACHED} from '../../protocol/wire/error-codes.js';
import {DisconnectedError} from '../../rpc/disconnected-error.js';
import {onAbort} from '../../shared/async/on-abort.js';
import {waitAtMost} from '../../shared/async/timeout.js';
import {errorMessage} from '../../shared/errors.js';
import type {Transport} from '../../transports/transport.js';
import type {RemoteProcess} from '../process/remote-process.js';
import {catchUpInPages} from './catch-up.js';
import {RejectedError} from './client-errors.js';
import {connectUnlessAborted} from './connect-unless-aborted.js';
import type {Connection} from './connection.js';
import type {Connect} from './session-client.js';

/** Time limit of all attempts to resume a session, as in codex 0.169; servers keep a detached session for longer. */
export const RECOVERY_BUDGET_MS = 45_000;
/** Budgets that a recovery may use up in all, each begun by a resumed session whose connection was lost again. */
export const MAX_RECOVERY_BUDGETS = 10;
export const RETRY_INTERVAL_MS = 100;
/** The same when the usual time limit is over and a longer one was asked for: nothing is gained by more attempts then. */
const LATE_RETRY_INTERVAL_MS = 2000;
/** Time limit of connecting, doubled after each attempt that used it up: an attempt on a dead path must not take all the time. */
const FIRST_ATTEMPT_MS = 3000;
/** The time limit is not doubled beyond this, so that several attempts are made in the last half minute of a recovery. */
const MAX_ATTEMPT_MS = 12_000;
/** Reason of a session that cannot be resumed because another instance of the server answers. */
export const SERVER_RESTARTED = 'the server was restarted: its sessions are gone';
/** Text of stock servers that have no code of their own for it. */
const ATTACHED_TEXT = /is already attached to another connection$/;

export interface Recovery {
	readonly connect: Connect;
	/** Does the handshake and resumes the session. */
	readonly open: (transport: Transport, timeoutMs: number) => Promise<Connection>;
	/** Processes whose missed events have to be read. */
	readonly processes: () => readonly RemoteProcess[];
	/** Attaches again to a process of another session. */
	readonly reattach: (connection: Connection, process: RemoteProcess) => Promise<void>;
	readonly budgetMs?: number | undefined;
	/** The server that has the session, if it has told. */
	readonly instanceId: string | undefined;
	/** Aborted when the client is closed. */
	readonly cancel: AbortSignal;
}

export type RecoveryOutcome = {readonly connection: Connection} | {readonly failure: string};

/**
 * Retries until the session is resumed and missed events are read, the time limit is over, or the server refuses. The time
 * limit begins anew when the session is resumed and its connection is lost again: so does the server's retention of it.
 */
export async function recover(recovery: Recovery): Promise<RecoveryOutcome> {
	const {cancel} = recovery;
	const budgetMs = recovery.budgetMs ?? RECOVERY_BUDGET_MS;
	const begunAt = performance.now();
	const lastDeadline = begunAt + budgetMs * MAX_RECOVERY_BUDGETS;
	let deadline = begunAt + budgetMs;
	let attemptMs = FIRST_ATTEMPT_MS;
	while (!cancel.aborted) {
		const startedAt = performance.now();
		const leftMs = deadline - startedAt;
		if (leftMs <= 0) return {failure: new RecoveryTimeoutError(budgetMs).message};
		try {
			const tooLate = AbortSignal.timeout(Math.ceil(Math.min(attemptMs, leftMs)));
			const transport = await connectUnlessAborted(recovery.connect, AbortSignal.any([tooLate, cancel]));
			const connection = await recovery.open(transport, deadline - performance.now());
			deadline = Math.min(performance.now() + budgetMs, lastDeadline);
			await catchUp(connection, recovery, {leftMs: deadline - performance.now(), budgetMs});
			return {connection};
		} catch (error) {
			if (!mayRetry(error)) return {failure: describeFailure(error, recovery.instanceId)};
		}
		if (performance.now() - startedAt >= attemptMs) attemptMs = Math.min(attemptMs * 2, MAX_ATTEMPT_MS);
		const isLate = performance.now() - begunAt >= RECOVERY_BUDGET_MS;
		const pauseMs = Math.min(isLate ? LATE_RETRY_INTERVAL_MS : RETRY_INTERVAL_MS, deadline - performance.now());
		await waitAtMost(new Promise(() => {}), Math.max(0, pauseMs), cancel);
	}
	return {failure: 'the client was closed'};
}

/** The server has taken too long. */
class RecoveryTimeoutError extends Error {
	override readonly name = 'RecoveryTimeoutError';
	readonly isFinal = true;

	constructor(budgetMs: number) {
		super(`recovery timed out after ${budgetMs / 1000}s`);
	}
}

/** Another instance of the server cannot have the session; the same one has ended it. */
function describeFailure(error: unknown, instanceId: string | undefined): string {
	const answering = error instanceof RejectedError ? error.context['instanceId'] : undefined;
	const isRestarted = instanceId !== undefined && typeof answering === 'string' && answering !== instanceId;
	return isRestarted ? SERVER_RESTARTED : errorMessage(error);
}

/** An error reply is final, except when the old connection is still attached; so is an error that says it. Others may be temporary. */
function mayRetry(error: unknown): boolean {
	if ((error as {isFinal?: unknown} | null)?.isFinal === true) return false;
	return !(error instanceof RpcError) || isStillAttached(error);
}

/** The server takes the session for attached: it has not seen yet that its client has left. */
export function isStillAttached(error: unknown): boolean {
	return error instanceof RpcError && (error.code === SESSION_ATTACHED || ATTACHED_TEXT.test(error.message));
}

/** Reads the missed events of all processes; closes the connection if the server does not answer in time. */
async function catchUp(
	connection: Connection,
	{processes, reattach, cancel}: Recovery,
	{leftMs, budgetMs}: {readonly leftMs: number; readonly budgetMs: number},
): Promise<void> {
	let isLate = false;
	// Of a longer time limit only so much is spent on a server that does not answer: the next attempt may find one that does.
	const limitMs = Math.min(leftMs, RECOVERY_BUDGET_MS);
	const timer = setTimeout(() => {
		isLate = limitMs === leftMs;
		connection.destroy();
	}, limitMs);
	const stopListening = onAbort(cancel, () => connection.destroy());
	try {
		await Promise.all(processes().map(process => catchUpWith(connection, process, reattach)));
	} catch (error) {
		connection.destroy();
		throw isLate ? new RecoveryTimeoutError(budgetMs) : error;
	} finally {
		clearTimeout(timer);
		stopListening();
	}
}

/** A process whose missed events cannot be read is terminated: incomplete output would be worse than none. */
async function catchUpWith(
	connection: Connection,
	process: RemoteProcess,
	reattach: Recovery['reattach'],
): Promise<void> {
	const {processId, reference} = process;
	try {
		if (reference !== undefined) return await reattach(connection, process);
		await catchUpInPages(process, (afterSeq, maxBytes) =>
			connection.call('process/read', {processId, afterSeq, waitMs: 0, ...(maxBytes && {maxBytes})}),
		);
	} catch (error) {
		if (error instanceof DisconnectedError) throw error;
		process.fail(`failed to recover process ${processId}: ${errorMessage(error)}`);
		// A process of another client is not ours to end.
		if (reference === undefined) await terminateUnlessGone(connection, processId);
	}
}

async function terminateUnlessGone(connection: Connection, processId: string): Promise<void> {
	try {
		await connection.call('process/terminate', {processId, mode: 'force'});
	} catch (error) {
		// The server does not know the process: it is gone already.
		if (!(error instanceof RpcError)) throw error;
	}
}
