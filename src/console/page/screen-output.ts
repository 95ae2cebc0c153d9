import type {Screen} from '../../client/process/shared-process.js';

const ESC = '\u001b';
const CSI = `${ESC}[`;
const SGR = new RegExp(`${ESC}\\[[\\d;:]*m`, 'g');

/** Output that makes a terminal show the screen, asked for as `ansi`, whatever it showed before. */
export function toScreenOutput({lines, rows, cursor, alternate}: Screen): string {
	const mode = alternate ? `${CSI}?1049h` : `${CSI}?1049l`;
	const drawn = lines.slice(0, rows).map((line, row) => `${CSI}${row + 1};1H${CSI}0m${line}`);
	const place = `${CSI}0m${CSI}${cursor.row + 1};${cursor.col + 1}H${CSI}?25${cursor.isVisible ? 'h' : 'l'}`;
	// Margins, wrapping and origin may have been changed by output that was not seen to its end.
	return `${ESC}(B${CSI}r${CSI}?6l${CSI}?7h${mode}${CSI}0m${CSI}H${CSI}2J${drawn.join('')}${place}`;
}

/** Lines of the screen without colours and blanks at their ends. */
export function toPlainLines({lines}: Screen): string[] {
	return lines.map(line => line.replaceAll(SGR, '').trimEnd());
}
