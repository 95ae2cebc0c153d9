/** Longest delay of a timer; Node fires at once beyond it. Longer times are clamped to it. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** Milliseconds, or text with a unit: `'500ms'`, `'5s'`, `'1.5m'`, `'2h'`. */
export type Duration = number | string;

const SIZE_UNITS: Record<string, number> = {
	'': 1,
	b: 1,
	kib: 1024,
	mib: 1024 ** 2,
	gib: 1024 ** 3,
	k: 1024,
	m: 1024 ** 2,
	g: 1024 ** 3,
};
const DURATION_UNITS: Record<string, number> = {ms: 1, s: 1000, m: 60_000, h: 3_600_000};
const TIME_VALUE_UNITS: Record<string, number> = {...DURATION_UNITS, '': 1000};

/** `1048576`, `512KiB`, `1.5MiB` → bytes; undefined for anything else. */
export function parseSize(text: string): number | undefined {
	return parseWithUnit(text, SIZE_UNITS);
}

/** `30s`, `500ms`, `1.5m`, `2h` → milliseconds; a unit is required except for `0`. */
export function parseDuration(text: string): number | undefined {
	return text.trim() === '0' ? 0 : parseWithUnit(text, DURATION_UNITS);
}

/** The same for an option of the command line, where a number without a unit is seconds, as for `timeout`. */
export function parseTimeValue(text: string): number | undefined {
	return parseWithUnit(text, TIME_VALUE_UNITS);
}

export function formatSize(bytes: number): string {
	for (const [unit, factor] of [
		['GiB', 1024 ** 3],
		['MiB', 1024 ** 2],
		['KiB', 1024],
	] as const) {
		if (bytes >= factor && bytes % factor === 0) return `${bytes / factor}${unit}`;
	}
	return `${bytes}B`;
}

export function formatDuration(ms: number): string {
	if (ms === 0) return '0';
	for (const [unit, factor] of [
		['h', 3_600_000],
		['m', 60_000],
		['s', 1000],
	] as const) {
		if (ms >= factor && ms % factor === 0) return `${ms / factor}${unit}`;
	}
	return `${ms}ms`;
}

function parseWithUnit(text: string, units: Record<string, number>): number | undefined {
	const match = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/i.exec(text.trim());
	const factor = match && units[match[2]!.toLowerCase()];
	if (!match || factor === undefined || factor === null) return undefined;
	const value = Math.round(Number(match[1]) * factor);
	return Number.isSafeInteger(value) ? value : undefined;
}
