import type {AnswerFacts} from '../calls/tool-call.js';
import type {TrackedOutcome, TrackedProcess} from '../processes/tracked-process.js';
import type {OutputExcerpt} from './output-excerpt.js';

const SECOND_MS = 1000;

/** State of a process for programs: `running`, `exited` or `lost`, and what it has to do with. */
export function stateFacts(outcome: TrackedOutcome): AnswerFacts {
	switch (outcome.by) {
		case 'exit': {
			const {exitCode, reason = 'exit'} = outcome.exit;
			return {state: 'exited', exit_code: exitCode, ...(reason !== 'exit' && {reason})};
		}
		case 'lost':
			return {state: 'lost', error: outcome.message};
		case 'input':
			return {
				state: 'running',
				until: 'input',
				waiting_for: outcome.waitingFor,
				...(outcome.isGuess && {is_guess: true}),
			};
		case 'text':
			return {state: 'running', until: 'text', found: outcome.text};
		case 'port':
			return {state: 'running', until: 'port', port: outcome.port};
		case 'silence':
		case 'time':
			return {state: 'running', until: outcome.by};
	}
}

/** Sizes of output for programs. */
export function sizeFacts({bytes, leftOutBytes, missedBytes}: OutputExcerpt): AnswerFacts {
	return {bytes, omitted_bytes: leftOutBytes, ...(missedBytes > 0 && {lost_bytes: missedBytes})};
}

/** An answer about one process for programs. */
export function processFacts(process: TrackedProcess, outcome: TrackedOutcome, excerpt?: OutputExcerpt): AnswerFacts {
	const {machine, id, elapsedMs} = process;
	return {
		machine: machine.name,
		id,
		...stateFacts(outcome),
		...(elapsedMs !== undefined && {elapsed_s: Math.round(elapsedMs) / SECOND_MS}),
		...(excerpt && sizeFacts(excerpt)),
	};
}
