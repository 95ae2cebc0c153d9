import {describeFold, groupBy} from '../../../environments/many/fold-outcomes.js';
import {belowHeader, describeCause, describeState, formatElapsed, headerField} from '../answers/header-line.js';
import {cutMiddleOf, groupDigits, type OutputExcerpt} from '../answers/output-excerpt.js';
import {processFacts} from '../answers/process-facts.js';
import {type AnswerFacts, type CallAnswer, type ToolCall, textAnswer} from '../calls/tool-call.js';
import type {NamedMachine} from '../machines/named-machine.js';
import {isLoss} from '../processes/lost-machine.js';
import type {CommandRequest} from '../processes/start-command.js';
import type {TrackedOutcome, TrackedProcess} from '../processes/tracked-process.js';
import type {ToolContext} from './tool.js';
import {describeShortWait} from './wait-parameters.js';

/** Time for the processes to end when their task is cancelled. */
const CANCEL_GRACE_MS = 10_000;
/** Characters of output for each of many distinct outcomes at least. */
const MIN_GROUP_CHARS = 200;

interface ManyOptions {
	readonly context: ToolContext;
	readonly call: ToolCall;
	readonly waitMs: number | undefined;
	readonly maxChars: number;
}

/** Outcome of the command on one machine. */
interface MachineAnswer {
	readonly name: string;
	/** `exit 0`, `lost`, `not started`. */
	readonly state: string;
	/** More about it; machines may differ in this and still be equal. */
	readonly cause: string | undefined;
	readonly id: string | undefined;
	readonly excerpt: OutputExcerpt | undefined;
	/** The same for programs. */
	readonly facts: AnswerFacts;
}

/** Runs a command on several machines at once, and answers once per distinct outcome. */
export async function execOnMany(
	machines: readonly NamedMachine[],
	request: CommandRequest,
	{context, call, waitMs, maxChars}: ManyOptions,
): Promise<CallAnswer> {
	const startedAt = performance.now();
	const started = new Map<NamedMachine, TrackedProcess>();
	let done = 0;
	call.watch({
		name: `${headerField(machines[0]!.name)}+${machines.length - 1}`,
		isOwn: true,
		describe: async () => `${done} of ${machines.length} done · ${formatElapsed(performance.now() - startedAt)}`,
		cancel: async () => {
			await Promise.allSettled([...started.values()].map(process => process.stop(undefined, CANCEL_GRACE_MS)));
		},
	});
	const limitMs = call.waitMs(waitMs);
	const answers = await Promise.all(
		machines.map(async machine => {
			const answer = await execOn(machine, async () => {
				const process = await context.processes.start(machine, request);
				started.set(machine, process);
				const leftMs = limitMs === undefined ? undefined : Math.max(0, limitMs - (performance.now() - startedAt));
				const outcome = await process.waitFor({}, {ms: leftMs, signal: call.signal});
				return {process, outcome, maxChars, note: describeShortWait(waitMs, limitMs)};
			});
			done++;
			return answer;
		}),
	);
	const [header = '', ...lines] = formatAnswers(answers, maxChars);
	return textAnswer(header, {machines: answers.map(({facts}) => facts)}, ...lines);
}

interface Ended {
	readonly process: TrackedProcess;
	readonly outcome: TrackedOutcome;
	readonly maxChars: number;
	/** About the wait of a process that still runs. */
	readonly note: string | undefined;
}

async function execOn(machine: NamedMachine, run: () => Promise<Ended>): Promise<MachineAnswer> {
	const {name} = machine;
	let ended: Ended | undefined;
	try {
		ended = await run();
		const {process, outcome, maxChars, note} = ended;
		const {id} = process;
		const excerpt =
			outcome.by === 'lost' ? undefined : await process.readNew({maxChars, isEnded: outcome.by === 'exit'});
		const cause = outcome.by === 'time' ? note : describeCause(outcome);
		return {name, state: describeState(outcome), cause, id, excerpt, facts: processFacts(process, outcome, excerpt)};
	} catch (error) {
		if (!(error instanceof Error) || error.name === 'AbortError') throw error;
		const cause = headerField(error.message);
		const state = isLoss(error) ? 'lost' : 'not started';
		const id = ended?.process.id;
		const facts = {machine: name, ...(id !== undefined && {id}), state: state.replace(' ', '_'), error: error.message};
		return {name, state, cause, id, excerpt: undefined, facts};
	}
}

/** Equal outcomes once, the larger groups first; machines that are lost last. */
function formatAnswers(answers: readonly MachineAnswer[], maxChars: number): string[] {
	const groups = groupBy(answers, ({state, cause, excerpt}) =>
		state === 'lost' ? state : JSON.stringify([state, state === 'running' ? '' : cause, excerpt?.text, excerpt?.bytes]),
	).sort((one, other) => rank(one[0]) - rank(other[0]) || other.length - one.length);
	const size = Math.max(MIN_GROUP_CHARS, Math.floor(maxChars / groups.length));
	return groups.flatMap(group => formatGroup(group, answers.length, size));
}

function rank({state}: MachineAnswer): number {
	return ['running', 'not started', 'lost'].indexOf(state);
}

function formatGroup(group: readonly [MachineAnswer, ...MachineAnswer[]], total: number, maxChars: number): string[] {
	const [first] = group;
	const {state, excerpt, cause} = first;
	const hasEnded = state.startsWith('exit');
	const leftOut = excerpt !== undefined && (excerpt.leftOutBytes > 0 || excerpt.text.length > maxChars);
	// The ids are needed for what is not in the answer.
	const names = group.map(
		({name, id}) => `${headerField(name)}${id !== undefined && (!hasEnded || leftOut) ? `=${headerField(id)}` : ''}`,
	);
	const size = leftOut ? ` · ${groupDigits(excerpt.bytes)} bytes, the rest: logs ID` : '';
	const why = cause === undefined ? '' : ` · ${cause}`;
	const text = excerpt?.text.replace(/\n$/, '') ?? '';
	return [`[${describeFold(state, names, total)}${size}${why}]`, belowHeader(cutMiddleOf(text, maxChars))];
}
