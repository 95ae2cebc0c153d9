export interface ProgressState {
	/** Name of the current entry. */
	readonly label: string;
	/** Bytes at the target. */
	readonly bytes: number;
	/** Undefined until it is counted. */
	readonly total: number | undefined;
	/** Bytes per second. */
	readonly rate: number | undefined;
}

const MIN_LABEL_WIDTH = 8;
const MIN_BAR_WIDTH = 10;
const MAX_BAR_WIDTH = 30;
const ELLIPSIS = '…';
const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const;
const STEP = 1024;
const SHORT_MS = 10_000;

/** One line that fits the width: label, bar, bytes, rate, time left. The last figures are dropped if they do not fit. */
export function progressLine({label, bytes, total, rate}: ProgressState, width: number): string {
	const share = total === undefined || total === 0 ? undefined : Math.min(1, bytes / total);
	const facts = [
		share === undefined ? undefined : `${String(Math.floor(share * 100)).padStart(3)}%`,
		total === undefined ? formatBytes(bytes) : `${formatBytes(bytes)}/${formatBytes(total)}`,
		rate === undefined ? undefined : `${formatBytes(Math.max(0, rate))}/s`,
		formatRemaining(bytes, total, rate),
	].filter(fact => fact !== undefined);
	while (facts.length > 1 && MIN_LABEL_WIDTH + 2 + facts.join('  ').length > width) facts.pop();
	const tail = facts.join('  ');
	const available = width - tail.length - 2;
	if (available < MIN_LABEL_WIDTH) return tail.slice(0, Math.max(0, width));
	const shown = shorten(label, Math.max(MIN_LABEL_WIDTH, available - MIN_BAR_WIDTH - 4));
	const barWidth = Math.min(MAX_BAR_WIDTH, available - measureWidth(shown) - 4);
	const bar = share === undefined || barWidth < MIN_BAR_WIDTH ? '' : `  ${drawBar(share, barWidth)}`;
	return `${shown}${bar}  ${tail}`;
}

function formatRemaining(bytes: number, total: number | undefined, rate: number | undefined): string | undefined {
	if (total === undefined || rate === undefined || rate <= 0 || bytes >= total) return undefined;
	return `${formatTimeLeft(((total - bytes) / rate) * 1000)} left`;
}

function drawBar(share: number, width: number): string {
	const full = Math.round(share * (width - 2));
	return `[${'#'.repeat(full)}${' '.repeat(width - 2 - full)}]`;
}

/** Drops the beginning of a name: its end is more specific. */
function shorten(label: string, width: number): string {
	if (measureWidth(label) <= width) return label;
	const characters = Array.from(label);
	let [from, left] = [characters.length, width - 1];
	while (from > 0 && measureWidth(characters[from - 1]!) <= left) left -= measureWidth(characters[--from]!);
	return `${ELLIPSIS}${characters.slice(from).join('')}`;
}

/** Upper bound of the columns of a text: characters beyond ASCII may be wide. */
function measureWidth(text: string): number {
	let columns = 0;
	for (const character of text) columns += character <= '~' || character === ELLIPSIS ? 1 : 2;
	return columns;
}

/** `812 B`, `1.5 MiB`, `20.0 GiB`. */
export function formatBytes(bytes: number): string {
	let [value, unit] = [bytes, 0];
	while (value >= STEP && unit < UNITS.length - 1) {
		value /= STEP;
		unit++;
	}
	return unit === 0 ? `${Math.round(value)} B` : `${value.toFixed(1)} ${UNITS[unit]!}`;
}

/** `0:07`, `12:30`, `1:02:03`. */
export function formatTimeLeft(ms: number): string {
	const seconds = Math.ceil(ms / 1000);
	const [hours, minutes, rest] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
	const tail = `${String(minutes).padStart(hours > 0 ? 2 : 1, '0')}:${String(rest).padStart(2, '0')}`;
	return hours > 0 ? `${hours}:${tail}` : tail;
}

/** A duration: `0.8 s`, `42 s`. */
export function formatSeconds(ms: number): string {
	return `${(ms / 1000).toFixed(ms < SHORT_MS ? 1 : 0)} s`;
}

export function formatCount(count: number, one: string, many = `${one}s`): string {
	return `${count.toLocaleString('en-US')} ${count === 1 ? one : many}`;
}
