import {RejectedError, TooManyCallsError} from '../client/session/client-errors.js';
import {DisconnectedError} from '../rpc/disconnected-error.js';
import {waitAtMost} from '../shared/async/timeout.js';
import {isReachable} from './exec-environment.js';
import {AFTER_WRITE_MS, CLOSE_GRACE_MS} from './exec-limits.js';
import type {ExecSession} from './exec-session.js';
import {stdinClosed, writeFailed} from './tool-failures.js';

const INTERRUPT = '\u0003';

/** Whether input has arrived, or may still be on its way through a link that is being mended. */
export type Typed = 'arrived' | 'pending';

/**
 * Types into a session. Without a terminal there is nothing to type on, but an interrupt can be sent. A process that
 * turns out to be gone is no failure: the answer tells its exit.
 */
export async function typeInto(session: ExecSession, chars: string, windowMs: number): Promise<Typed> {
	if (!session.tty && chars !== INTERRUPT) throw stdinClosed();
	const outcome = await outcomeWithin(session.tty ? write(session, chars) : interrupt(session), windowMs);
	switch (outcome.kind) {
		case 'pending':
			return 'pending';
		case 'done':
			if (outcome.status === 'starting') throw writeFailed();
			if (outcome.status !== 'accepted') session.process.presumeGone();
			else if (session.tty) await waitAtMost(session.process.finished, AFTER_WRITE_MS);
			return 'arrived';
		case 'failed':
			return afterFailure(session, outcome.error);
	}
}

type Status = 'accepted' | 'unknownProcess' | 'stdinClosed' | 'starting';
type Outcome =
	| {readonly kind: 'done'; readonly status: Status}
	| {readonly kind: 'failed'; readonly error: unknown}
	| {readonly kind: 'pending'};

/** Behind what was typed before, even if that has not arrived yet. */
function write(session: ExecSession, chars: string): Promise<Status> {
	const {handle} = session.process;
	const written = session.lastWrite.then(async () => (await handle.write(chars)).status);
	session.lastWrite = written.catch(() => {});
	return written;
}

async function interrupt(session: ExecSession): Promise<Status> {
	await session.process.handle.signal('interrupt');
	return 'accepted';
}

async function outcomeWithin(attempt: Promise<Status>, ms: number): Promise<Outcome> {
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

/** The news of an exit or a loss may be right behind the failure. */
async function afterFailure(session: ExecSession, error: unknown): Promise<Typed> {
	const {process, environment} = session;
	await waitAtMost(process.finished, CLOSE_GRACE_MS);
	if (process.life.kind !== 'running') return 'arrived';
	if (error instanceof DisconnectedError && !(await isReachable(environment))) return 'pending';
	const isRefusal = error instanceof RejectedError || error instanceof TooManyCallsError;
	throw isRefusal ? writeFailed() : new BrokenSessionError();
}

/** Nobody can talk to the process any more. */
export class BrokenSessionError extends Error {
	override readonly name = 'BrokenSessionError';
}
