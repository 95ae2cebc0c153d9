import {parseDuration, parseTimeValue} from '../../shared/units.js';
import {usageError} from '../exit-codes.js';

const TIME_FORMS = 'a time such as 30s, 500ms or 2h';

/** Value of an option that is a length of time, in milliseconds; a number is seconds. Undefined if it was not given. */
export function parseTimeOption(flag: string, text: string | undefined): number | undefined {
	if (text === undefined) return undefined;
	const ms = parseTimeValue(text);
	if (ms === undefined) throw usageError(`${flag} ${text}: expected ${TIME_FORMS}`);
	return ms;
}

/** A moment as it is written on the command line. */
export type Moment =
	| {readonly kind: 'date'; readonly ms: number}
	/** So long before now. */
	| {readonly kind: 'ago'; readonly ms: number}
	/** So long after the start of the process. */
	| {readonly kind: 'afterStart'; readonly ms: number};

/** `2026-03-01T12:00:00Z`, `10m` ago, or `+90s` after the start. */
export function parseMoment(flag: string, text: string): Moment {
	const isAfterStart = text.startsWith('+');
	const length = parseDuration(isAfterStart ? text.slice(1) : text);
	if (length !== undefined) return {kind: isAfterStart ? 'afterStart' : 'ago', ms: length};
	const date = /^\d{4}-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
	if (!Number.isNaN(date)) return {kind: 'date', ms: date};
	throw usageError(
		`${flag} ${text}: expected a date such as 2026-03-01T12:00:00Z, 10m (ago) or +90s (after the start)`,
	);
}
