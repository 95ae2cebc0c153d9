import {REGISTRY_UNREACHABLE} from '../../../protocol/relay/refusal-reasons.js';
import {PROTOCOL_ERROR} from '../../relay/channel-transport.js';
import {UnreachableError} from '../connect-web-socket.js';
import {isPoolTarget, type RegistryTarget} from '../registry-scheme.js';
import {hintOfTlsError} from '../tls-trust.js';
import {HandshakeRefusedError} from './connect-harness.js';
import {isPoolRefusal} from './placed-targets.js';
import {RegistryError} from './registry-errors.js';
import {isUnreached, pauseAfterUnreached} from './unreached.js';

/** Attempts after the first one, if that failed for a reason that may pass, and the time for all of them; codex 0.169 makes two such rounds. */
export const MAX_CONNECT_RETRIES = 4;
export const CONNECT_BUDGET_MS = 14_000;
/** The time for attempts that reach no hub, of a client that resumes its session: it begins anew by itself. */
export const RESUMING_BUDGET_MS = 2000;
/** How long a client waits for a machine of a pool by default. Longer than another one that never came counts, `PENDING_PICK_MS`. */
export const DEFAULT_POOL_WAIT_MS = 3000;
/** Pauses double from the first to the longest, each with up to half of it on top. */
const FIRST_PAUSE_MS = 500;
/** The same after an answer that may be another one soon. */
const FIRST_REFUSED_PAUSE_MS = 200;
const MAX_PAUSE_MS = 5000;
const UNAUTHORIZED = 401;

/** Decides how often one client tries to connect, by the reasons why it could not. */
export class ConnectAttempts {
	readonly #poolWaitMs: number;
	readonly #startedAt = performance.now();
	#unreached = 0;
	#retries = 0;
	/** Of the first time that no machine had room, monotonic. */
	#refusedAt: number | undefined;

	constructor(target: RegistryTarget) {
		this.#poolWaitMs = isPoolTarget(target) ? (target.poolWaitMs ?? DEFAULT_POOL_WAIT_MS) : 0;
	}

	/** Milliseconds before the next attempt; undefined if there is none. `isResuming` for a client that tries again by itself. */
	pauseAfter(error: unknown, isResuming: boolean): number | undefined {
		const now = performance.now();
		const elapsedMs = now - this.#startedAt;
		if (isUnreached(error)) {
			const pauseMs = pauseAfterUnreached(++this.#unreached);
			const budgetMs = isResuming ? RESUMING_BUDGET_MS : Math.max(CONNECT_BUDGET_MS, this.#poolWaitMs);
			return elapsedMs + pauseMs < budgetMs ? pauseMs : undefined;
		}
		if (isResuming) return undefined;
		const isRefused = isPoolRefusal(error);
		if (isRefused) this.#refusedAt ??= now;
		const retries = this.#retries++;
		const pauseMs = pauseBefore(error, retries);
		if (mayPass(error) && retries < MAX_CONNECT_RETRIES && elapsedMs + pauseMs < CONNECT_BUDGET_MS) return pauseMs;
		const waitLeftMs = this.#poolWaitMs - (now - (this.#refusedAt ?? this.#startedAt));
		return (isRefused || mayPass(error)) && waitLeftMs > 0 ? Math.min(pauseMs, waitLeftMs) : undefined;
	}
}

/** A ticket that is refused may have expired on its way; another one is asked for. */
function mayPass(error: unknown): boolean {
	// How long a client waits for room is its own choice.
	if (error instanceof RegistryError) return error.isPassing && !isPoolRefusal(error);
	if (error instanceof HandshakeRefusedError) return mayBeLetIn(error);
	if (!(error instanceof UnreachableError)) return false;
	const {status} = error;
	if (status === undefined) return !(error.cause instanceof Error && hintOfTlsError(error.cause));
	return status >= 500 || status === UNAUTHORIZED;
}

/**
 * An executor that has no room, or is about to end, by the time the client comes: the hub chooses another. One that could not
 * ask its hub about the client, for which stock executors have no reason of their own, asks about the next authorization.
 */
function mayBeLetIn(error: HandshakeRefusedError): boolean {
	return isPoolRefusal(error) || error.reason === REGISTRY_UNREACHABLE || error.reason === PROTOCOL_ERROR;
}

function pauseBefore(error: unknown, retries: number): number {
	const isRefusedTicket = error instanceof UnreachableError && error.status === UNAUTHORIZED;
	if (isRefusedTicket && retries === 0) return 0;
	const isRefused = isPoolRefusal(error) || error instanceof HandshakeRefusedError;
	const first = isRefused ? FIRST_REFUSED_PAUSE_MS : FIRST_PAUSE_MS;
	return Math.min(first * 2 ** retries, MAX_PAUSE_MS) * (1 + Math.random() / 2);
}
