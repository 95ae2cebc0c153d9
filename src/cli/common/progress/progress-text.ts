import {formatBytes, formatTimeLeft} from './format.js';

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
