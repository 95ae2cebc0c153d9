import type {IBuffer, IBufferCell, IBufferLine} from '@xterm/headless';
import {UNSAFE_CHARACTERS} from '../../shared/unsafe-characters.js';

/** How lines of a screen are written: plain, or with sequences for colours and attributes. */
export type ScreenFormat = 'text' | 'ansi';

const ESCAPE = '\u001B';
const ATTRIBUTES_OFF = `${ESCAPE}[0m`;

/** Attributes of cells and their numbers. */
const ATTRIBUTES = [
	[1, 'isBold'],
	[2, 'isDim'],
	[3, 'isItalic'],
	[4, 'isUnderline'],
	[5, 'isBlink'],
	[7, 'isInverse'],
	[8, 'isInvisible'],
	[9, 'isStrikethrough'],
	[53, 'isOverline'],
] as const;
/** Numbers of the first colour of the palette: as text and as background, the eight bright ones apart. */
const TEXT = {base: 30, bright: 90, extended: 38} as const;
const BACKGROUND = {base: 40, bright: 100, extended: 48} as const;

interface Size {
	readonly rows: number;
	readonly cols: number;
}

/** Text for people, without characters that a terminal would act upon. */
export function removeUnsafe(text: string): string {
	return text.replace(UNSAFE_CHARACTERS, '');
}

/** The lines of the screen, without the blanks at their ends. A line may be longer than the screen is wide. */
export function drawLines(buffer: IBuffer, {rows, cols}: Size, format: ScreenFormat): string[] {
	const cell = buffer.getNullCell();
	return Array.from({length: rows}, (_, row) => {
		const line = buffer.getLine(buffer.baseY + row);
		if (!line) return '';
		return format === 'text' ? writeText(line, cols, cell) : writeAnsi(line, cols, cell);
	});
}

function writeText(line: IBufferLine, cols: number, cell: IBufferCell): string {
	let text = '';
	for (let column = 0; column < cols && column < line.length; column++) {
		line.getCell(column, cell);
		// The second half of a wide character is a cell without a width.
		if (cell.getWidth() > 0) text += charactersOf(cell);
	}
	return text.trimEnd();
}

function writeAnsi(line: IBufferLine, cols: number, cell: IBufferCell): string {
	let text = '';
	let shown = '';
	/** Blanks that are written only if something follows. */
	let blanks = '';
	for (let column = 0; column < cols && column < line.length; column++) {
		line.getCell(column, cell);
		if (cell.getWidth() === 0) continue;
		const characters = charactersOf(cell);
		const attributes = attributesOf(cell);
		if (attributes === '' && characters === ' ') {
			blanks += ' ';
			continue;
		}
		if (blanks !== '') {
			if (shown !== '') text += ATTRIBUTES_OFF;
			text += blanks;
			shown = '';
			blanks = '';
		}
		if (attributes !== shown) text += attributes === '' ? ATTRIBUTES_OFF : `${ESCAPE}[0;${attributes}m`;
		shown = attributes;
		text += characters;
	}
	return shown === '' ? text : text + ATTRIBUTES_OFF;
}

/** A blank for a cell without text. */
function charactersOf(cell: IBufferCell): string {
	const characters = cell.getChars();
	if (characters.length === 1 && characters >= ' ' && characters <= '~') return characters;
	return removeUnsafe(characters) || ' ';
}

/** Numbers of a cell's attributes and colours, separated by semicolons; empty for the default ones. */
function attributesOf(cell: IBufferCell): string {
	if (cell.isAttributeDefault()) return '';
	const numbers: number[] = [];
	for (const [number, isSet] of ATTRIBUTES) if (cell[isSet]()) numbers.push(number);
	if (!cell.isFgDefault()) numbers.push(...colourOf(cell.getFgColor(), cell.isFgRGB(), TEXT));
	if (!cell.isBgDefault()) numbers.push(...colourOf(cell.getBgColor(), cell.isBgRGB(), BACKGROUND));
	return numbers.join(';');
}

function colourOf(colour: number, isRgb: boolean, {base, bright, extended}: typeof TEXT | typeof BACKGROUND): number[] {
	if (isRgb) return [extended, 2, (colour >>> 16) & 0xff, (colour >>> 8) & 0xff, colour & 0xff];
	if (colour < 8) return [base + colour];
	return colour < 16 ? [bright + colour - 8] : [extended, 5, colour];
}
