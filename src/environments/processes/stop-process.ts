import type {TerminateResult} from '../../client/process/process-handle.js';
import {WaitError} from '../../client/run/wait-for.js';
import {waitAtMost} from '../../shared/async/timeout.js';
import {findProcess, type GivenProcess, isLiving} from './find-process.js';

/** Time until a process that was killed is known to have ended. */
const END_MS = 10_000;
const POLL_INTERVAL_MS = 100;
/** Events so late are never delivered: the end is asked for. */
const NO_EVENTS = Number.MAX_SAFE_INTEGER;

export interface StopSettings {
	/** Without `SIG`. Undefined asks with SIGTERM, and first with SIGHUP an interactive shell, which ignores SIGTERM. */
	readonly signal: string | undefined;
	readonly graceMs: number;
}

/** How a process was stopped. */
export interface Stopped {
	/** It had ended before. */
	readonly wasOver: boolean;
	/** Undefined if it is not known. */
	readonly exitCode: number | undefined;
	readonly survivors: NonNullable<TerminateResult['survivors']>;
}

/** Ends a process; settles when it is over. */
export async function stopProcess(given: GivenProcess, {signal, graceMs}: StopSettings): Promise<Stopped> {
	const {environment, reference} = given;
	const listed = await findProcess(given);
	if (!isLiving(listed) && listed.descendants.length === 0) {
		return {wasOver: true, exitCode: listed.exitCode ?? undefined, survivors: []};
	}
	const found = {environment, reference: listed.processId};
	const asks = signal !== undefined;
	// Only the driver sends signals; its owner may end a process whoever drives it.
	const role = asks ? ({role: 'drive', takeover: true} as const) : ({role: 'observe'} as const);
	const process = await environment.attach(listed.processId, {...role, afterSeq: NO_EVENTS});
	if (asks) await process.signal({name: signal});
	// The server kills it after that time, and all that it leaves behind, even if our link is lost meanwhile.
	else await process.terminate({graceful: {timeoutMs: graceMs}});
	const asked = await waitForExit(found, graceMs);
	if (asked !== undefined) return {wasOver: false, exitCode: asked, survivors: await waitForRest(found, graceMs)};
	const {survivors = []} = await process.terminate();
	const killed = await waitForExit(found, END_MS);
	if (killed === undefined) throw new Error(`${reference} was killed; its end is not known`);
	return {wasOver: false, exitCode: killed, survivors};
}

/** Processes that it has left behind and that are still there when the server had time to end them. */
async function waitForRest(given: GivenProcess, graceMs: number): Promise<Stopped['survivors']> {
	const deadline = performance.now() + graceMs + END_MS;
	for (;;) {
		const {descendants} = await findProcess(given);
		if (descendants.length === 0 || performance.now() >= deadline) return descendants;
		await waitAtMost(new Promise(() => {}), POLL_INTERVAL_MS);
	}
}

/** The exit code; undefined if the process still runs after that time. */
async function waitForExit({environment, reference}: GivenProcess, ms: number): Promise<number | undefined> {
	const process = await environment.processes.reference(reference);
	try {
		const {exit} = await process.waitFor({exit: true}, {timeout: ms});
		return exit.exitCode;
	} catch (error) {
		if (error instanceof WaitError && error.reason === 'timeout') return undefined;
		throw error;
	}
}
