// Small curves side by side, as one SVG. Pure: numbers go in, text comes out.

const PANEL = {width: 250, height: 190};
const PER_ROW = 5;
const FRAME = {left: 44, right: 12, top: 30, bottom: 40};
const INK = '#24292f';
const FAINT = '#d0d7de';
const LINE = '#0969da';

/** Panels of `{title, across, points: [[x, y], ...]}`; x grows tenfold from mark to mark, y is straight from 0. */
export function drawCurves(panels) {
	const rows = Math.ceil(panels.length / PER_ROW);
	const [width, height] = [PANEL.width * Math.min(PER_ROW, panels.length), PANEL.height * rows];
	return [
		`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="11" fill="${INK}">`,
		`<rect width="${width}" height="${height}" fill="#fff"/>`,
		...panels.map((panel, index) => {
			const [x, y] = [(index % PER_ROW) * PANEL.width, Math.floor(index / PER_ROW) * PANEL.height];
			return `<g transform="translate(${x} ${y})">${drawPanel(panel)}</g>`;
		}),
		'</svg>',
		'',
	].join('\n');
}

function drawPanel({title, across, points}) {
	const xs = points.map(([x]) => Math.log10(x));
	const top = niceTop(Math.max(...points.map(([, y]) => y)));
	const left = FRAME.left;
	const [w, h] = [PANEL.width - left - FRAME.right, PANEL.height - FRAME.top - FRAME.bottom];
	const toX = x => left + ((Math.log10(x) - xs[0]) / (xs.at(-1) - xs[0] || 1)) * w;
	const toY = y => FRAME.top + h - (y / top) * h;
	const line = points.map(([x, y]) => `${toX(x).toFixed(1)},${toY(y).toFixed(1)}`).join(' ');
	return [
		`<text x="${left}" y="18" font-weight="bold">${title}</text>`,
		...[0, 0.5, 1].map(share => {
			const y = toY(top * share).toFixed(1);
			return `<path d="M${left} ${y}h${w}" stroke="${FAINT}"/><text x="${left - 6}" y="${Number(y) + 4}" text-anchor="end">${label(top * share)}</text>`;
		}),
		...points.map(([x]) => `<text x="${toX(x).toFixed(1)}" y="${FRAME.top + h + 15}" text-anchor="middle">${x}</text>`),
		`<text x="${left + w / 2}" y="${FRAME.top + h + 31}" text-anchor="middle">${across}</text>`,
		`<polyline points="${line}" fill="none" stroke="${LINE}" stroke-width="2"/>`,
		...points.map(
			([x, y]) =>
				`<circle cx="${toX(x).toFixed(1)}" cy="${toY(y).toFixed(1)}" r="3" fill="${LINE}"><title>${x}: ${label(y)}</title></circle>`,
		),
	].join('');
}

/** The next of 1, 2, 5 times a power of ten. */
function niceTop(most) {
	if (most <= 0) return 1;
	const power = 10 ** Math.floor(Math.log10(most));
	return [1, 2, 5, 10].map(step => step * power).find(top => top >= most);
}

function label(value) {
	return value >= 10 || value === 0 ? String(Math.round(value)) : String(Number(value.toPrecision(2)));
}
