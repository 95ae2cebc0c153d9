import {formatElapsed, processHeader} from '../answers/header-line.js';
import {groupDigits} from '../answers/output-excerpt.js';
import {type CallAnswer, type CallSubject, type ToolCall, textAnswer} from '../calls/tool-call.js';
import {isLoss} from '../processes/lost-machine.js';
import type {TrackedOutcome, TrackedProcess, WaitUntil} from '../processes/tracked-process.js';

/** Grace period of a process whose task is cancelled. */
const CANCEL_GRACE_MS = 10_000;

export interface WaitPlan {
	readonly until: WaitUntil;
	/** As the model gave it. */
	readonly waitMs: number | undefined;
	readonly maxChars: number;
	/** Whether the process was started by this call. */
	readonly isOwn: boolean;
	/** Whether a person may be asked for the line it waits for; not if the model wants to answer itself. */
	readonly mayAsk: boolean;
}

/** Waits for a process and answers with its state and its new output. */
export async function answerAfterWait(process: TrackedProcess, plan: WaitPlan, call: ToolCall): Promise<CallAnswer> {
	call.watch(subjectOf(process, plan.isOwn));
	const outcome = await process.waitFor(plan.until, {ms: call.waitMs(plan.waitMs), signal: call.signal});
	const isLine = outcome.by === 'input' && outcome.waitingFor === 'input' && !outcome.isGuess;
	if (isLine && plan.mayAsk && call.canAsk) return askForLine(process);
	return answerWithOutput(process, outcome, plan.maxChars);
}

/** State and new output of a process. */
export async function answerWithOutput(
	process: TrackedProcess,
	outcome: TrackedOutcome,
	maxChars: number,
): Promise<CallAnswer> {
	if (outcome.by === 'lost') return lostAnswer(process, outcome);
	try {
		const excerpt = await process.readNew({maxChars, isEnded: outcome.by === 'exit'});
		return textAnswer(processHeader(process, outcome, excerpt), excerpt.text.replace(/\n$/, ''));
	} catch (error) {
		// How it ended stays true when its output cannot be read now.
		if (!isLoss(error)) throw error;
		if (outcome.by === 'exit') return textAnswer(processHeader(process, outcome), `its output: ${error.message}`);
		return lostAnswer(process, {by: 'lost', message: error.message});
	}
}

/** Subject of a call about a process. */
function subjectOf(process: TrackedProcess, isOwn: boolean): CallSubject {
	return {
		name: `${process.machine.name}.${process.id}`,
		isOwn,
		describe: () => describeProgress(process),
		cancel: async () => {
			await process.stop(undefined, CANCEL_GRACE_MS);
		},
	};
}

async function describeProgress(process: TrackedProcess): Promise<string> {
	const {bytes, lastLine} = await process.progress();
	const elapsed = process.elapsedMs === undefined ? '' : `${formatElapsed(process.elapsedMs)} · `;
	return `${process.id} · ${elapsed}${groupDigits(bytes)} bytes${lastLine === '' ? '' : ` · ${lastLine}`}`;
}

async function askForLine(process: TrackedProcess): Promise<CallAnswer> {
	const {lastLine} = await process.progress();
	const question = lastLine === '' ? 'waits for a line' : `asks: ${lastLine}`;
	return {kind: 'ask', message: `${process.id} on ${process.machine.name} ${question}`, processId: process.id};
}

function lostAnswer(process: TrackedProcess, outcome: Extract<TrackedOutcome, {by: 'lost'}>): CallAnswer {
	const advice = `Its end is not known; if the machine is alive, it runs on: wait ${process.id} later.`;
	return {kind: 'text', text: `${processHeader(process, outcome)}\n${advice}`, isError: true};
}
