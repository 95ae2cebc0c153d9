import {RpcError, SESSION_ATTACHED} from '../../protocol/wire/error-codes.js';
import {DisconnectedError} from '../../rpc/disconnected-error.js';
import {errorMessage} from '../../shared/errors.js';
import type {Transport} from '../../transports/transport.js';
import type {RemoteProcess} from '../process/remote-process.js';
import type {Connection} from './connection.js';

/** How long a session is tried to be resumed; servers keep one a little longer. */
export const RECOVERY_BUDGET_MS = 25_000;
const RETRY_MS = 100;

export interface Recovery {
	readonly connect: (signal: AbortSignal) => Promise<Transport>;
	/** The handshake, with the session resumed. */
	readonly open: (transport: Transport) => Promise<Connection>;
	/** Those that have to be caught up with. */
	readonly processes: () => readonly RemoteProcess[];
	readonly budgetMs?: number | undefined;
	/** Nobody wants the session any more. */
	readonly isGivenUp: () => boolean;
}

export type RecoveryOutcome = {readonly connection: Connection} | {readonly failure: string};

/** Connects again until the session is resumed and everything caught up with, or it is no use. */
export async function recover(recovery: Recovery): Promise<RecoveryOutcome> {
	const budgetMs = recovery.budgetMs ?? RECOVERY_BUDGET_MS;
	const deadline = Date.now() + budgetMs;
	while (!recovery.isGivenUp()) {
		const leftMs = deadline - Date.now();
		if (leftMs <= 0) return {failure: `recovery timed out after ${budgetMs / 1000}s`};
		try {
			const transport = await recovery.connect(AbortSignal.timeout(leftMs));
			const connection = await recovery.open(transport);
			await catchUp(connection, recovery.processes(), deadline - Date.now());
			return {connection};
		} catch (error) {
			if (!mayRetry(error)) return {failure: errorMessage(error)};
		}
		await new Promise(resolve => setTimeout(resolve, RETRY_MS));
	}
	return {failure: 'the client was closed'};
}

/** Whatever may be different next time; what the server refuses is final, unless the old connection is still there. */
function mayRetry(error: unknown): boolean {
	return !(error instanceof RpcError) || error.code === SESSION_ATTACHED;
}

/** A server that does not answer any more is hung up on when the time is over. */
async function catchUp(connection: Connection, processes: readonly RemoteProcess[], leftMs: number): Promise<void> {
	const timer = setTimeout(() => connection.destroy(), leftMs);
	try {
		await Promise.all(processes.map(process => catchUpWith(connection, process)));
	} catch (error) {
		connection.destroy();
		throw error;
	} finally {
		clearTimeout(timer);
	}
}

/** What cannot be caught up with is ended: half of its output would be worse than none. */
async function catchUpWith(connection: Connection, process: RemoteProcess): Promise<void> {
	const {processId, published: afterSeq} = process;
	try {
		process.catchUp(await connection.call('process/read', {processId, afterSeq, waitMs: 0}));
	} catch (error) {
		if (error instanceof DisconnectedError) throw error;
		process.fail(`failed to recover process ${processId}: ${errorMessage(error)}`);
		await endUnlessGone(connection, processId);
	}
}

async function endUnlessGone(connection: Connection, processId: string): Promise<void> {
	try {
		await connection.call('process/terminate', {processId});
	} catch (error) {
		// The server does not know it, which will do as well.
		if (!(error instanceof RpcError)) throw error;
	}
}
