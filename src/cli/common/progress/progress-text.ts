import {formatBytes, formatTimeLeft} from './format.js';

export interface ProgressState {
	/** What is worked on. */
	readonly label: string;
	/** Bytes that are where they belong. */
	readonly bytes: number;
	/** Undefined while nobody knows. */
	readonly total: number | undefined;
	/** Bytes per second. */
	readonly rate: number | undefined;
}

const SHORTEST_LABEL = 8;
const SHORTEST_BAR = 10;
const MAX_BAR_WIDTH = 30;
const ELLIPSIS = '…';

/** One line that fits the width: what, how much, how fast, how long. What does not fit is left out, the end first. */
export function progressLine({label, bytes, total, rate}: ProgressState, width: number): string {
	const share = total === undefined || total === 0 ? undefined : Math.min(1, bytes / total);
	const facts = [
		share === undefined ? undefined : `${String(Math.floor(share * 100)).padStart(3)}%`,
		total === undefined ? formatBytes(bytes) : `${formatBytes(bytes)}/${formatBytes(total)}`,
		rate === undefined ? undefined : `${formatBytes(Math.max(0, rate))}/s`,
		leftOf(bytes, total, rate),
	].filter(fact => fact !== undefined);
	while (facts.length > 1 && SHORTEST_LABEL + 2 + facts.join('  ').length > width) facts.pop();
	const tail = facts.join('  ');
	const room = width - tail.length - 2;
	if (room < SHORTEST_LABEL) return tail.slice(0, Math.max(0, width));
	const shown = shorten(label, Math.max(SHORTEST_LABEL, room - SHORTEST_BAR - 4));
	const barWidth = Math.min(MAX_BAR_WIDTH, room - widthOf(shown) - 4);
	const bar = share === undefined || barWidth < SHORTEST_BAR ? '' : `  ${barOf(share, barWidth)}`;
	return `${shown}${bar}  ${tail}`;
}

function leftOf(bytes: number, total: number | undefined, rate: number | undefined): string | undefined {
	if (total === undefined || rate === undefined || rate <= 0 || bytes >= total) return undefined;
	return `${formatTimeLeft(((total - bytes) / rate) * 1000)} left`;
}

function barOf(share: number, width: number): string {
	const full = Math.round(share * (width - 2));
	return `[${'#'.repeat(full)}${' '.repeat(width - 2 - full)}]`;
}

/** The end of a name tells more than its beginning. */
function shorten(label: string, width: number): string {
	if (widthOf(label) <= width) return label;
	const characters = Array.from(label);
	let [from, left] = [characters.length, width - 1];
	while (from > 0 && widthOf(characters[from - 1]!) <= left) left -= widthOf(characters[--from]!);
	return `${ELLIPSIS}${characters.slice(from).join('')}`;
}

/** Columns a text takes at most: what is not ASCII may be wide. */
function widthOf(text: string): number {
	let columns = 0;
	for (const character of text) columns += character <= '~' || character === ELLIPSIS ? 1 : 2;
	return columns;
}
