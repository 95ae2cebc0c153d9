import {UNSAFE_CHARACTERS} from '../../../shared/unsafe-characters.js';
import type {TrackedOutcome, TrackedProcess} from '../processes/tracked-process.js';
import {groupDigits, type OutputExcerpt} from './output-excerpt.js';

const SEPARATOR = ' · ';
/** Characters of a name or of a matched text in a header. */
const MAX_FIELD_CHARACTERS = 80;

/** Characters of a command in a list. */
export const COMMAND_CHARACTERS = 200;

/** The line in front of an answer; whoever chose the texts in it, it stays one line. */
export function headerLine(fields: readonly (string | undefined)[]): string {
	return `[${fields.filter(field => field !== undefined && field !== '').join(SEPARATOR)}]`;
}

/** A name or another text for a header: one line, without brackets that would end it. */
export function headerField(text: string): string {
	const line = text.replace(UNSAFE_CHARACTERS, ' ').replaceAll('[', '(').replaceAll(']', ')').trim();
	return line.length > MAX_FIELD_CHARACTERS ? `${line.slice(0, MAX_FIELD_CHARACTERS - 1)}…` : line;
}

/** A text of others below a header, as it is: control characters are written out, so that it stays one line. */
export function plainLine(text: string, maxCharacters: number): string {
	const line = text.length > maxCharacters ? `${text.slice(0, maxCharacters - 1)}…` : text;
	return line.replace(UNSAFE_CHARACTERS, writtenOut);
}

/** A name at the beginning of a line below a header, which cannot be taken for another header. */
export function plainName(name: string): string {
	const line = plainLine(name, Number.POSITIVE_INFINITY);
	return line.startsWith('[') ? `./${line}` : line;
}

/** Output below the header of one machine in an answer about several: no line of it can be taken for another header. */
export function belowHeader(text: string): string {
	return text.replaceAll(/^\[/gm, ' [');
}

function writtenOut(character: string): string {
	const written = JSON.stringify(character).slice(1, -1);
	return written === character ? `\\u${character.codePointAt(0)!.toString(16).padStart(4, '0')}` : written;
}

/** `0.4 s`, `38.2 s`, `12 min`. */
export function formatElapsed(ms: number): string {
	if (ms < 100_000) return `${(ms / 1000).toFixed(1).replace(/\.0$/, '')} s`;
	return ms < 600_000 ? `${Math.round(ms / 1000)} s` : `${Math.round(ms / 60_000)} min`;
}

/** `exit 1`, `exit 143 (ended by a signal)`, `running`, `lost`. */
export function describeState(outcome: TrackedOutcome): string {
	if (outcome.by === 'lost') return 'lost';
	if (outcome.by !== 'exit') return 'running';
	const {exitCode, reason} = outcome.exit;
	const cause = {exit: '', timeout: ' (time limit)', signal: ' (ended by a signal)', terminated: ' (stopped)'};
	return `exit ${exitCode}${cause[reason ?? 'exit']}`;
}

/** Why a wait ended although the process runs, for a header. */
export function describeCause(outcome: TrackedOutcome): string | undefined {
	switch (outcome.by) {
		case 'text':
			return `found "${headerField(outcome.text)}"`;
		case 'port':
			return `port ${outcome.port} is open`;
		case 'silence':
			return 'silent';
		case 'input':
			return describeInput(outcome);
		case 'lost':
			return headerField(outcome.message);
		case 'exit':
		case 'time':
			return undefined;
	}
}

function describeInput({waitingFor, isGuess}: Extract<TrackedOutcome, {by: 'input'}>): string {
	if (waitingFor === 'password') return 'waits for a password';
	return isGuess ? 'seems to wait for input' : 'waits for input';
}

/** `84,233 bytes, 71,002 left out: logs p7`. */
export function describeSize({bytes, leftOutBytes}: OutputExcerpt, id: string): string {
	const size = `${groupDigits(bytes)} bytes`;
	return leftOutBytes === 0 ? size : `${size}, ${groupDigits(leftOutBytes)} left out: logs ${id}`;
}

/** The header of an answer about one process; `notes` are for the model. */
export function processHeader(
	process: TrackedProcess,
	outcome: TrackedOutcome,
	excerpt?: OutputExcerpt,
	notes: readonly (string | undefined)[] = [],
): string {
	const {elapsedMs} = process;
	const id = headerField(process.id);
	return headerLine([
		describeState(outcome),
		elapsedMs === undefined ? undefined : formatElapsed(elapsedMs),
		headerField(process.machine.name),
		id,
		excerpt && describeSize(excerpt, id),
		describeCause(outcome),
		...notes,
	]);
}
