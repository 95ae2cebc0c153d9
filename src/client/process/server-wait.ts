import type {Result} from '../../protocol/methods/method-table.js';
import {INVALID_PARAMS} from '../../protocol/wire/error-codes.js';
import {DisconnectedError} from '../../rpc/disconnected-error.js';
import {abortable, withTimeout} from '../../shared/async/timeout.js';
import type {OutputPosition} from '../run/output-window.js';
import {joinBytes, type OutputMatch, toPatternResult} from '../run/pattern-result.js';
import {
	endedError,
	type ReadWait,
	readWait,
	timeoutError,
	type WaitCondition,
	WaitError,
	type WaitOptions,
	type WaitResult,
	type WaitResultOf,
	waitFor,
} from '../run/wait-for.js';
import {RejectedError} from '../session/client-errors.js';
import {requireCapability} from '../session/require-capability.js';
import type {ProcessHandle} from './process-handle.js';
import type {ProcessAsker} from './process-session.js';

/** Events, and bytes of them, that are read to find the place of a match that came in pieces. */
const MAX_MATCH_EVENTS = 16;
const MAX_MATCH_BYTES = 1024 * 1024;

type Answer = Result<'process/waitFor'>;

/** Output can be read of attached processes only: a match ends with its event then. */
const UNREAD: Pick<ProcessHandle, 'read'> = {
	read: async () => ({chunks: [], nextSeq: 0, exited: false, exitCode: null, closed: false, failure: null}),
};

/**
 * Lets the server wait, which sees more than its output of a process. Conditions that the protocol cannot express, and
 * those that the server cannot look for, are waited for here.
 */
export async function waitOnServer<K extends keyof WaitCondition>(
	process: ProcessHandle,
	session: ProcessAsker,
	condition: Pick<WaitCondition, K>,
	options: WaitOptions = {},
): Promise<WaitResultOf<K>> {
	const wait = readWait(condition, options);
	wait.signal?.throwIfAborted();
	const {capabilities} = await session.describe();
	if (capabilities['processWaitFor'] !== true || !isExpressible(wait, capabilities))
		return waitFor(process, condition, options);
	let result: WaitResult;
	try {
		result = await toResult(process, wait, await ask(process, session, wait));
	} catch (error) {
		if (error instanceof DisconnectedError) throw new WaitError('lost', error.message);
		if (isUnsupported(error) && !wait.input) return waitFor(process, condition, options);
		throw error;
	}
	// Only given conditions were asked for.
	return result as WaitResultOf<K>;
}

/** The same for a process that this client is not attached to: only the server can wait then. */
export async function waitByReference<K extends keyof WaitCondition>(
	reference: string,
	session: ProcessAsker,
	condition: Pick<WaitCondition, K>,
	options: WaitOptions = {},
): Promise<WaitResultOf<K>> {
	const wait = readWait(condition, options);
	wait.signal?.throwIfAborted();
	const {capabilities} = await session.describe();
	requireCapability(capabilities, 'processWaitFor', 'waitFor()');
	if (!isExpressible(wait, capabilities)) {
		requireCapability(capabilities, 'processWaitForFlags', 'flags of a pattern for a process that is not attached');
	}
	try {
		const answer = await ask({processId: reference}, session, wait);
		return (await toResult(UNREAD, wait, answer)) as WaitResultOf<K>;
	} catch (error) {
		throw error instanceof DisconnectedError ? new WaitError('lost', error.message) : error;
	}
}

/** Faults of the caller have a code of their own. */
function isUnsupported(error: unknown): boolean {
	return error instanceof RejectedError && error.code === INVALID_PARAMS && error.errorCode === undefined;
}

/** Earlier servers take an expression without flags, and begin behind whole events. */
function isExpressible({pattern, start}: ReadWait, capabilities: Readonly<Record<string, boolean>>): boolean {
	if (pattern === undefined || capabilities['processWaitForFlags'] === true) return true;
	return pattern.flags === '' && start.offset === 0;
}

/** The time limit is kept here, too: a question that is repeated over a new connection begins again there. */
function ask({processId}: Pick<ProcessHandle, 'processId'>, session: ProcessAsker, wait: ReadWait): Promise<Answer> {
	const {exit, pattern, port, silence, input, start, timeout, signal} = wait;
	const answer = session.repeat('process/waitFor', {
		processId,
		...(exit && {exit}),
		...(pattern && {pattern: pattern.source}),
		...(pattern && pattern.flags !== '' && {patternFlags: pattern.flags}),
		...(port !== undefined && {port}),
		...(silence !== undefined && {silenceMs: Math.round(silence)}),
		...(input && {input}),
		...(pattern && start.seq > 1 && {afterSeq: start.seq - 1}),
		...(pattern && start.offset > 0 && {afterOffset: start.offset}),
		...(timeout !== undefined && {timeoutMs: Math.round(timeout)}),
	});
	// An answer that comes after the time limit, or after the signal, is of no use.
	answer.catch(() => {});
	const limited = timeout === undefined ? answer : withTimeout(answer, timeout, () => throwTimeout(timeout));
	return abortable(limited, signal);
}

async function toResult(process: Pick<ProcessHandle, 'read'>, wait: ReadWait, answer: Answer): Promise<WaitResult> {
	const {by, exitCode, reason} = answer;
	switch (by) {
		case 'exit':
			if (exitCode === null || exitCode === undefined)
				throw new WaitError('lost', 'how the process ended is not known');
			return {
				by,
				exit: {exitCode, sandboxDenied: undefined, reason: reason ?? undefined},
			};
		case 'pattern':
			return toPatternResult(process, wait.pattern!, wait.start, await toOutputMatch(process, answer));
		case 'port':
			return {by, port: wait.port!};
		case 'silence':
			return {by};
		case 'input':
			return {by, waitingFor: answer.waitingFor ?? 'input', isGuess: answer.isGuess ?? false};
		case 'timeout':
			return throwTimeout(wait.timeout ?? 0);
		case 'ended':
			throw endedError(exitCode);
	}
}

async function toOutputMatch(process: Pick<ProcessHandle, 'read'>, answer: Answer): Promise<OutputMatch> {
	const {text, groups, end, isCut = false} = answer.match ?? {text: '', groups: []};
	return {text, groups, end: end ?? (await findEnd(process, answer)), isCut};
}

/**
 * The place behind a match of an earlier server, which ends in the last event that the server looked at; behind that event when it cannot be
 * read any more.
 */
async function findEnd(process: Pick<ProcessHandle, 'read'>, {match, seq}: Answer): Promise<OutputPosition> {
	const text = new TextEncoder().encode(match?.text ?? '');
	for (const afterSeq of [Math.max(0, seq - MAX_MATCH_EVENTS), seq - 1]) {
		const {chunks} = await process.read({afterSeq, maxBytes: MAX_MATCH_BYTES});
		const last = chunks.findIndex(chunk => chunk.seq === seq);
		if (last < 0) continue;
		const before = joinBytes(chunks.slice(0, last).map(({chunk}) => chunk));
		const found = indexOf(joinBytes([before, chunks[last]!.chunk]), text, before.length - text.length + 1);
		if (found >= 0) return {seq, offset: found + text.length - before.length};
	}
	return {seq: seq + 1, offset: 0};
}

function indexOf(bytes: Uint8Array, wanted: Uint8Array, from: number): number {
	for (let at = Math.max(0, from); at + wanted.length <= bytes.length; at++) {
		if (wanted.every((byte, index) => bytes[at + index] === byte)) return at;
	}
	return -1;
}

function throwTimeout(ms: number): never {
	throw timeoutError(ms);
}
