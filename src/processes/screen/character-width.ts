import type {IUnicodeVersionProvider} from '@xterm/headless';

/** Characters that share the cell of the one before them; more of them take a cell of their own, as no text has them. */
export const MAX_JOINED_CHARACTERS = 15;

const ZERO_WIDTH = /^[\p{Mn}\p{Me}\p{Cf}\u1160-\u11ff\ud7b0-\ud7ff]$/u;
/** Drawn, although its category is that of invisible characters. */
const VISIBLE_FORMAT = /^[\u00ad\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2]$/u;
const WIDE_EMOJI = /^\p{Emoji_Presentation}$/u;
const IDEOGRAPHIC = /^[\p{Script=Han}\p{Script=Tangut}\p{Script=Nushu}\p{Script=Khitan_Small_Script}]$/u;
/** First and last code points of the other wide characters: East Asian scripts and full-width forms. */
const WIDE_RANGES: readonly (readonly [number, number])[] = [
	[0x1100, 0x115f],
	[0x2329, 0x232a],
	[0x2e80, 0x303e],
	[0x3041, 0xa4cf],
	[0xa960, 0xa97c],
	[0xac00, 0xd7a3],
	[0xf900, 0xfaff],
	[0xfe10, 0xfe19],
	[0xfe30, 0xfe6f],
	[0xff01, 0xff60],
	[0xffe0, 0xffe6],
	[0x16fe0, 0x18d8f],
	[0x1aff0, 0x1b2fb],
	[0x1f200, 0x1f265],
	[0x20000, 0x3fffd],
];
/** Symbols between wide characters that are narrow. */
const NARROW = /^[\u303f\u4dc0-\u4dff]$/u;

type Width = 0 | 1 | 2;

/** Widths by code point, plus one; zero where it is not known yet. */
const known = new Uint8Array(0x11_0000);

/** Cells of a terminal that a character takes. */
export function characterWidth(code: number): Width {
	if (code < 0x20) return 0;
	if (code < 0x7f) return 1;
	const width = known[code];
	if (width) return (width - 1) as Width;
	const computed = computeWidth(code);
	known[code] = computed + 1;
	return computed;
}

function computeWidth(code: number): Width {
	if (code < 0xa0) return 0;
	const character = String.fromCodePoint(code);
	if (ZERO_WIDTH.test(character)) return VISIBLE_FORMAT.test(character) ? 1 : 0;
	if (NARROW.test(character)) return 1;
	const isWide =
		WIDE_RANGES.some(([first, last]) => code >= first && code <= last) ||
		WIDE_EMOJI.test(character) ||
		IDEOGRAPHIC.test(character);
	return isWide ? 2 : 1;
}

/**
 * Widths of the present Unicode for xterm, whose own are of an old one. The value of a character is, from the lowest bit:
 * whether it joins the one before, the width of both, and the count of those that joined, which bounds the text of a cell.
 */
export const CHARACTER_WIDTHS: IUnicodeVersionProvider = {
	version: 'longarm',
	wcwidth: characterWidth,
	charProperties(code, preceding) {
		const width = characterWidth(code);
		if (width > 0) return width << 1;
		const precedingWidth = (preceding >> 1) & 3;
		const joined = (preceding >> 3) + 1;
		if (precedingWidth === 0 || joined > MAX_JOINED_CHARACTERS) return 1 << 1;
		return (joined << 3) | (precedingWidth << 1) | 1;
	},
};
