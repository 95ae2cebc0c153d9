import type {ArgumentsOf, ParameterTable} from '../calls/parameters.js';
import type {WaitUntil} from '../processes/tracked-process.js';

const SECOND_MS = 1000;

export const WAIT_S = {type: 'number', min: 0} as const;
export const MAX_CHARS = {type: 'integer', min: 100} as const;

/** Conditions of a wait; the exit always ends it. */
export const UNTIL = {
	type: {
		exit: {type: 'boolean'},
		text: {type: 'string', about: 'regex'},
		port: {type: 'integer', min: 1, max: 65_535},
		input: {type: 'boolean'},
		silence_s: {type: 'number', min: 0},
	},
} as const satisfies {type: ParameterTable};

type Until = ArgumentsOf<typeof UNTIL.type>;

/** Conditions as the model gave them; without any, those that a person would look for. */
export function readUntil(until: Until | undefined, defaults: WaitUntil): WaitUntil {
	if (!until || Object.values(until).every(value => value === undefined)) return defaults;
	return {
		...(until.text !== undefined && {text: toPattern(until.text)}),
		...(until.port !== undefined && {port: until.port}),
		...(until.silence_s !== undefined && {silenceMs: until.silence_s * SECOND_MS}),
		...(until.input && {input: 'any' as const}),
	};
}

/** Whether the model itself wants to know of input. */
export function asksForInput(until: Until | undefined): boolean {
	return until?.input === true;
}

export function toMs(seconds: number | undefined): number | undefined {
	return seconds === undefined ? undefined : seconds * SECOND_MS;
}

/** Says that a wait was shorter than the model asked for; undefined if it was not. */
export function describeShortWait(askedMs: number | undefined, ms: number | undefined): string | undefined {
	if (askedMs === undefined || ms === undefined || ms >= askedMs) return undefined;
	return `wait_s cut to ${ms / SECOND_MS}, the most here`;
}

/** A text that is no regular expression is meant as it is. */
function toPattern(text: string): string {
	try {
		return new RegExp(text).source;
	} catch {
		return text.replaceAll(/[$()*+.?[\\\]^{|}]/g, '\\$&');
	}
}
