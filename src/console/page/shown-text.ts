import {UNSAFE_CHARACTERS} from '../../shared/unsafe-characters.js';

const PLAIN_WORD = /^[\w@%+=:,./-]+$/;
const BYTES_PER_STEP = 1024;
const SIZE_STEPS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** A text of somebody else, with characters written out that would change the direction or the form of what is around it. */
export function toShown(text: string): string {
	return text.replace(UNSAFE_CHARACTERS, character => `\\u${character.codePointAt(0)!.toString(16).padStart(4, '0')}`);
}

/** A command line for people. */
export function toCommandLine(argv: readonly string[]): string {
	const quoted = argv.map(word => (PLAIN_WORD.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`));
	// A script is shown on one line.
	return toShown(quoted.join(' ').replaceAll(/\s+/g, ' '));
}

export function toSizeText(bytes: number): string {
	let value = bytes;
	let step = 0;
	while (value >= BYTES_PER_STEP && step < SIZE_STEPS.length - 1) {
		value /= BYTES_PER_STEP;
		step++;
	}
	return `${value >= 100 || step === 0 ? Math.round(value) : value.toFixed(1)} ${SIZE_STEPS[step]}`;
}

/** Two units at most: `3 s`, `2 min 10 s`, `5 h 3 min`, `2 d 4 h`. */
export function toDurationText(ms: number): string {
	if (ms < MINUTE_MS) return `${Math.max(0, Math.floor(ms / SECOND_MS))} s`;
	if (ms < HOUR_MS) return `${Math.floor(ms / MINUTE_MS)} min ${Math.floor((ms % MINUTE_MS) / SECOND_MS)} s`;
	if (ms < DAY_MS) return `${Math.floor(ms / HOUR_MS)} h ${Math.floor((ms % HOUR_MS) / MINUTE_MS)} min`;
	return `${Math.floor(ms / DAY_MS)} d ${Math.floor((ms % DAY_MS) / HOUR_MS)} h`;
}

/** One unit: a list with many ages is not drawn anew every second. */
export function toAgeText(ms: number): string {
	if (ms < MINUTE_MS) return `${Math.max(0, Math.floor(ms / SECOND_MS))} s`;
	if (ms < HOUR_MS) return `${Math.floor(ms / MINUTE_MS)} min`;
	return ms < DAY_MS ? `${Math.floor(ms / HOUR_MS)} h` : `${Math.floor(ms / DAY_MS)} d`;
}

export function toClockText(ms: number): string {
	return new Date(ms).toLocaleTimeString(undefined, {hour12: false});
}

export function toErrorText(error: unknown): string {
	return toShown(error instanceof Error ? error.message : String(error));
}
