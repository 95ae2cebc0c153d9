import type {Screen} from '../../../client/process/shared-process.js';
import {COMMAND_CHARACTERS, formatElapsed, headerField, plainLine, processHeader} from '../answers/header-line.js';
import {cutMiddleOf, groupDigits, type OutputExcerpt} from '../answers/output-excerpt.js';
import {processFacts} from '../answers/process-facts.js';
import {describeCursor, screenFacts, screenLines} from '../answers/screen-answer.js';
import {type CallAnswer, type CallSubject, type ToolCall, textAnswer} from '../calls/tool-call.js';
import {isLoss} from '../processes/lost-machine.js';
import type {TrackedOutcome, TrackedProcess, WaitUntil} from '../processes/tracked-process.js';
import {describeShortWait} from './wait-parameters.js';

/** Grace period of a process whose task is cancelled. */
const CANCEL_GRACE_MS = 10_000;
const NO_SCREEN_NOTE = 'a full-screen program, whose screen this machine does not keep';

export interface WaitPlan {
	readonly until: WaitUntil;
	/** As the model gave it. */
	readonly waitMs: number | undefined;
	readonly maxChars: number;
	/** Whether the process was started by this call. */
	readonly isOwn: boolean;
	/** Whether a person may be asked for the line it waits for; not if the model wants to answer itself. */
	readonly mayAsk: boolean;
	/** For the model, in the header of the answer. */
	readonly note?: string | undefined;
}

/** Waits for a process and answers with its state and its new output. */
export async function answerAfterWait(process: TrackedProcess, plan: WaitPlan, call: ToolCall): Promise<CallAnswer> {
	call.watch(subjectOf(process, plan.isOwn));
	const ms = call.waitMs(plan.waitMs);
	const outcome = await process.waitFor(plan.until, {ms, signal: call.signal});
	const isLine = outcome.by === 'input' && outcome.waitingFor === 'input' && !outcome.isGuess;
	if (isLine && plan.mayAsk && call.canAsk) return askForLine(process);
	const shortWait = outcome.by === 'time' ? describeShortWait(plan.waitMs, ms) : undefined;
	return answerWithOutput(process, outcome, {maxChars: plan.maxChars, notes: [shortWait, plan.note]});
}

interface OutputOptions {
	readonly maxChars: number;
	readonly notes: readonly (string | undefined)[];
}

/** State and new output of a process; of a full-screen program what its terminal shows. */
async function answerWithOutput(
	process: TrackedProcess,
	outcome: TrackedOutcome,
	{maxChars, notes}: OutputOptions,
): Promise<CallAnswer> {
	if (outcome.by === 'lost') return lostAnswer(process, outcome);
	try {
		const excerpt = await process.readNew({maxChars, isEnded: outcome.by === 'exit'});
		const facts = processFacts(process, outcome, excerpt);
		const isDrawn = process.isTerminal && outcome.by !== 'exit' && excerpt.bytes > 0;
		const screen = isDrawn ? await findFullScreen(process, excerpt) : undefined;
		if (screen) {
			const header = processHeader(process, outcome, {...excerpt, leftOutBytes: 0}, [
				describeFullScreen(screen),
				...notes,
			]);
			return textAnswer(
				header,
				{...facts, ...screenFacts(screen)},
				cutMiddleOf(screenLines(screen).join('\n'), maxChars),
			);
		}
		const drawn = isDrawn && excerpt.isDrawn ? NO_SCREEN_NOTE : undefined;
		const header = processHeader(process, outcome, excerpt, [drawn, ...notes]);
		return textAnswer(header, facts, excerpt.text.replace(/\n$/, ''));
	} catch (error) {
		// How it ended stays true when its output cannot be read now.
		if (!isLoss(error)) throw error;
		if (outcome.by !== 'exit') return lostAnswer(process, {by: 'lost', message: error.message});
		return textAnswer(processHeader(process, outcome), processFacts(process, outcome), `its output: ${error.message}`);
	}
}

/** The screen of a program that uses all of it; undefined for one that writes lines, and where there are no screens. */
async function findFullScreen(process: TrackedProcess, {isDrawn}: OutputExcerpt): Promise<Screen | undefined> {
	try {
		const screen = await process.screen();
		return screen.alternate || isDrawn ? screen : undefined;
	} catch {
		// The output itself is an answer, too.
		return undefined;
	}
}

function describeFullScreen(screen: Screen): string {
	return `full screen, as it is now · ${describeCursor(screen)}`;
}

/** Subject of a call about a process. */
function subjectOf(process: TrackedProcess, isOwn: boolean): CallSubject {
	const cancel = async (): Promise<void> => {
		await process.stop(undefined, CANCEL_GRACE_MS);
	};
	return {
		name: `${process.machine.name}.${process.id}`,
		isOwn,
		describe: () => describeProgress(process),
		cancel: process.rights.mayEnd ? cancel : undefined,
	};
}

async function describeProgress(process: TrackedProcess): Promise<string> {
	const {bytes, lastLine} = await process.progress();
	const elapsed = process.elapsedMs === undefined ? '' : `${formatElapsed(process.elapsedMs)} · `;
	const line = lastLine === '' ? '' : ` · ${plainLine(lastLine, COMMAND_CHARACTERS)}`;
	return `${headerField(process.id)} · ${elapsed}${groupDigits(bytes)} bytes${line}`;
}

async function askForLine(process: TrackedProcess): Promise<CallAnswer> {
	const {lastLine} = await process.progress();
	const question = lastLine === '' ? 'waits for a line' : `asks: ${plainLine(lastLine, COMMAND_CHARACTERS)}`;
	const who = `${headerField(process.id)} on ${headerField(process.machine.name)}`;
	return {kind: 'ask', message: `${who} ${question}`, processId: process.id};
}

function lostAnswer(process: TrackedProcess, outcome: Extract<TrackedOutcome, {by: 'lost'}>): CallAnswer {
	const advice = `Its end is not known; if the machine is alive, it runs on: wait ${headerField(process.id)} later.`;
	const facts = processFacts(process, outcome);
	return {kind: 'text', text: `${processHeader(process, outcome)}\n${advice}`, facts, isError: true};
}
