// Draws a screen as tmux prints it (text with colour escapes) as a picture: a terminal window in SVG, with text that can
// be selected. Pure: a screen goes in, a picture comes out.

const FONT_SIZE = 14;
const COLUMN = 8.4;
const ROW = 20;
const MARGIN = 16;
const TITLE_BAR = 36;
const BACKGROUND = '#1b1f27';
const FOREGROUND = '#d7dce4';
const PALETTE =
	'#3b4252 #e06c75 #98c379 #e5c07b #61afef #c678dd #56b6c2 #d7dce4 #5c6370 #ff7b86 #b5e090 #ffd68a #7cc3ff #dd8ff5 #6fd3e0 #ffffff'.split(
		' ',
	);
const ESCAPE = String.fromCodePoint(27);
const LEVELS = [0, 95, 135, 175, 215, 255];

const PLAIN = {
	colour: undefined,
	background: undefined,
	bold: false,
	dim: false,
	italic: false,
	underlined: false,
	reverse: false,
};

export function terminalSvg(screen, {columns, title}) {
	const lines = screen.split('\n');
	const width = Math.ceil(columns * COLUMN + 2 * MARGIN);
	const height = TITLE_BAR + lines.length * ROW + MARGIN;
	let style = PLAIN;
	const rows = lines.map((line, row) => {
		const {runs, last} = runsOf(line, style);
		style = last;
		return drawn(runs, TITLE_BAR + row * ROW);
	});
	return [
		`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escaped(title)}">`,
		`<rect width="${width}" height="${height}" rx="8" fill="${BACKGROUND}"/>`,
		...['#ff5f57', '#febc2e', '#28c840'].map(
			(colour, at) => `<circle cx="${20 + at * 20}" cy="18" r="6" fill="${colour}"/>`,
		),
		`<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="${FONT_SIZE}" fill="${FOREGROUND}">`,
		`<text x="${width / 2}" y="23" text-anchor="middle" opacity="0.6">${escaped(title)}</text>`,
		...rows.filter(row => row !== ''),
		'</g>',
		'</svg>',
		'',
	].join('\n');
}

/** Pieces of a line that look the same, with the column each begins in. */
function runsOf(line, style) {
	const runs = [];
	let [now, column] = [style, 0];
	for (const [index, part] of line.split(ESCAPE).entries()) {
		const [sequence = '', codes = ''] = index === 0 ? [] : (/^\[([\d;]*)m/.exec(part) ?? []);
		if (sequence !== '') now = styled(now, codes.split(';').map(Number));
		const text = part.slice(sequence.length);
		if (text !== '') runs.push({text, column, style: now});
		column += lengthOf(text);
	}
	return {runs, last: now};
}

function styled(style, codes) {
	const next = {...style};
	for (let at = 0; at < codes.length; at++) {
		const code = codes[at];
		if (code === 0) Object.assign(next, PLAIN);
		else if (code === 1) next.bold = true;
		else if (code === 2) next.dim = true;
		else if (code === 3) next.italic = true;
		else if (code === 4) next.underlined = true;
		else if (code === 7) next.reverse = true;
		else if (code === 22) Object.assign(next, {bold: false, dim: false});
		else if (code === 23) next.italic = false;
		else if (code === 24) next.underlined = false;
		else if (code === 27) next.reverse = false;
		else if (code === 38 || code === 48) {
			const isIndexed = codes[at + 1] === 5;
			const colour = isIndexed ? indexed(codes[at + 2]) : rgb(codes.slice(at + 2, at + 5));
			next[code === 38 ? 'colour' : 'background'] = colour;
			at += isIndexed ? 2 : 4;
		} else if (code === 39) next.colour = undefined;
		else if (code === 49) next.background = undefined;
		else if (code >= 30 && code <= 37) next.colour = PALETTE[code - 30];
		else if (code >= 90 && code <= 97) next.colour = PALETTE[code - 82];
		else if (code >= 40 && code <= 47) next.background = PALETTE[code - 40];
		else if (code >= 100 && code <= 107) next.background = PALETTE[code - 92];
	}
	return next;
}

function indexed(number) {
	if (number < 16) return PALETTE[number];
	if (number >= 232) return rgb(Array(3).fill(8 + (number - 232) * 10));
	const cube = number - 16;
	return rgb([Math.floor(cube / 36), Math.floor(cube / 6) % 6, cube % 6].map(level => LEVELS[level]));
}

function rgb(parts) {
	return `#${parts.map(part => part.toString(16).padStart(2, '0')).join('')}`;
}

function drawn(runs, top) {
	const boxes = runs.map(({text, column, style}) => {
		const fill = style.reverse ? (style.colour ?? FOREGROUND) : style.background;
		if (fill === undefined) return '';
		return `<rect x="${leftOf(column)}" y="${top}" width="${round(lengthOf(text) * COLUMN)}" height="${ROW}" fill="${fill}"/>`;
	});
	// Where each piece begins is said, so that every font keeps the columns; between pieces there is room.
	const words = runs.flatMap(({text, column, style}) =>
		[...text.matchAll(/\S+(?: \S+)*/g)].map(({0: piece, index}) => {
			const before = lengthOf(text.slice(0, index));
			return `<tspan x="${leftOf(column + before)}"${attributes(style)}>${escaped(piece)}</tspan>`;
		}),
	);
	if (words.length === 0) return boxes.join('');
	return `${boxes.join('')}<text y="${top + FONT_SIZE}">${words.join('')}</text>`;
}

function attributes({colour, background, bold, dim, italic, underlined, reverse}) {
	const fill = reverse ? (background ?? BACKGROUND) : colour;
	return [
		fill === undefined ? '' : ` fill="${fill}"`,
		bold ? ' font-weight="bold"' : '',
		dim ? ' opacity="0.6"' : '',
		italic ? ' font-style="italic"' : '',
		underlined ? ' text-decoration="underline"' : '',
	].join('');
}

/** In columns: characters beyond the first 65,536 take two places in a string. */
function lengthOf(text) {
	return Array.from(text).length;
}

function leftOf(column) {
	return round(MARGIN + column * COLUMN);
}

function round(number) {
	return Math.round(number * 10) / 10;
}

function escaped(text) {
	return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
