import {type InputRefusal, inputRefusalOf} from '../client/process/input-closed.js';
import {RejectedError, TooManyCallsError} from '../client/session/client-errors.js';
import {DisconnectedError} from '../rpc/disconnected-error.js';
import {waitAtMost} from '../shared/async/timeout.js';
import {isReachable} from './exec-environment.js';
import {CLOSE_GRACE_MS, ECHO_WAIT_MS} from './exec-limits.js';
import type {ExecSession} from './exec-session.js';
import {stdinClosedError, writeFailedError} from './tool-failures.js';

const INTERRUPT = '\u0003';

/** `pending` if the write has not been answered, because the connection is slow or being restored. */
export type InputState = 'arrived' | 'pending';

/**
 * Writes to the terminal of a session; without a terminal only an interrupt can be sent. A process that has exited is
 * no failure: the answer reports its exit.
 */
export async function sendInput(session: ExecSession, chars: string, windowMs: number): Promise<InputState> {
	if (!session.tty && chars !== INTERRUPT) throw stdinClosedError();
	const outcome = await settleWithin(session.tty ? write(session, chars) : interrupt(session), windowMs);
	switch (outcome.kind) {
		case 'pending':
			return 'pending';
		case 'done':
			if (outcome.status === 'starting') throw writeFailedError();
			if (outcome.status !== 'accepted') session.process.assumeExited();
			else if (session.tty) await waitAtMost(session.process.finished, ECHO_WAIT_MS);
			return 'arrived';
		case 'failed':
			return handleFailure(session, outcome.error);
	}
}

type Status = 'accepted' | InputRefusal;
type Outcome =
	| {readonly kind: 'done'; readonly status: Status}
	| {readonly kind: 'failed'; readonly error: unknown}
	| {readonly kind: 'pending'};

/** Queued behind earlier writes, answered or not. */
function write({process, writes}: ExecSession, chars: string): Promise<Status> {
	return writes.run(async () => {
		try {
			return (await process.handle.write(chars)).status;
		} catch (error) {
			const refusal = inputRefusalOf(error);
			if (refusal === undefined) throw error;
			return refusal;
		}
	});
}

async function interrupt(session: ExecSession): Promise<Status> {
	await session.process.handle.signal('interrupt');
	return 'accepted';
}

async function settleWithin(attempt: Promise<Status>, ms: number): Promise<Outcome> {
	let outcome: Outcome = {kind: 'pending'};
	const settle = async () => {
		try {
			outcome = {kind: 'done', status: await attempt};
		} catch (error) {
			outcome = {kind: 'failed', error};
		}
	};
	await waitAtMost(settle(), ms);
	return outcome;
}

/** Waits first: the event of an exit may follow the failure immediately. */
async function handleFailure(session: ExecSession, error: unknown): Promise<InputState> {
	const {process, environment} = session;
	await waitAtMost(process.finished, CLOSE_GRACE_MS);
	if (process.state.kind !== 'running') return 'arrived';
	if (error instanceof DisconnectedError && !(await isReachable(environment))) return 'pending';
	const isRefusal = error instanceof RejectedError || error instanceof TooManyCallsError;
	throw isRefusal ? writeFailedError() : new BrokenSessionError();
}

/** The process can no longer be written to. */
export class BrokenSessionError extends Error {
	override readonly name = 'BrokenSessionError';
}
