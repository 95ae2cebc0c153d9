import type {XtermAttributes, XtermBuffer, XtermCharset, XtermCore, XtermExtended, XtermLine} from './xterm-core.js';

/** Numbers for each cell of a line. */
const CELL_NUMBERS = 3;
const FIELDS = ['x', 'y', 'ybase', 'ydisp', 'scrollTop', 'scrollBottom', 'savedX', 'savedY'] as const;

interface AttributesState {
	readonly fg: number;
	readonly bg: number;
	readonly ext: number;
}

interface LineState {
	readonly length: number;
	readonly isWrapped: boolean;
	/** Cells up to the last that differs from `blank`. */
	readonly cells: Uint32Array;
	/** The cell that the rest of the line is filled with. */
	readonly blank: Uint32Array;
	readonly combined: Record<number, string>;
	readonly extended: Record<number, number>;
}

interface BufferState {
	readonly fields: readonly number[];
	readonly savedCharset: XtermCharset | undefined;
	readonly savedAttributes: AttributesState;
	readonly tabs: Record<number, boolean | undefined>;
	readonly lines: readonly LineState[];
}

/** Everything of a terminal between two sequences that decides what later output looks like. */
export interface XtermState {
	readonly normal: BufferState;
	readonly alternate: BufferState;
	readonly isAlternate: boolean;
	readonly attributes: AttributesState;
	readonly joinState: number;
	readonly charset: XtermCharset | undefined;
	readonly charsetLevel: number;
	readonly charsets: readonly (XtermCharset | undefined)[];
	readonly isCursorInitialized: boolean;
	readonly isCursorHidden: boolean;
	readonly modes: Record<string, unknown>;
	readonly privateModes: Record<string, unknown>;
	readonly convertsEol: boolean;
}

/** Copies the state; the result can be serialized, and shares some memory with the terminal until then. */
export function captureState(core: XtermCore): XtermState {
	const {_inputHandler: input, _charsetService: charsets, coreService, optionsService, buffers} = core;
	return {
		normal: captureBuffer(buffers.normal),
		alternate: captureBuffer(buffers.alt),
		isAlternate: buffers.active === buffers.alt,
		attributes: captureAttributes(input._curAttrData),
		joinState: input._parser.precedingJoinState,
		charset: charsets.charset,
		charsetLevel: charsets.glevel,
		charsets: charsets._charsets,
		isCursorInitialized: coreService.isCursorInitialized,
		isCursorHidden: coreService.isCursorHidden,
		modes: coreService.modes,
		privateModes: coreService.decPrivateModes,
		convertsEol: optionsService.options.convertEol,
	};
}

/** Puts a new terminal of the same size into the state. */
export function restoreState(core: XtermCore, state: XtermState): void {
	const {_inputHandler: input, _charsetService: charsets, coreService, optionsService, buffers} = core;
	if (state.isAlternate) buffers.activateAltBuffer();
	restoreAttributes(input._curAttrData, state.attributes);
	restoreBuffer(buffers.normal, state.normal, input._curAttrData);
	restoreBuffer(buffers.alt, state.alternate, input._curAttrData);
	input._parser.precedingJoinState = state.joinState;
	charsets.charset = state.charset;
	charsets.glevel = state.charsetLevel;
	charsets._charsets = [...state.charsets];
	coreService.isCursorInitialized = state.isCursorInitialized;
	coreService.isCursorHidden = state.isCursorHidden;
	Object.assign(coreService.modes, state.modes);
	Object.assign(coreService.decPrivateModes, state.privateModes);
	optionsService.options.convertEol = state.convertsEol;
}

function captureBuffer(buffer: XtermBuffer): BufferState {
	return {
		fields: FIELDS.map(field => buffer[field]),
		savedCharset: buffer.savedCharset,
		savedAttributes: captureAttributes(buffer.savedCurAttrData),
		tabs: buffer.tabs,
		lines: Array.from({length: buffer.lines.length}, (_, index) => captureLine(buffer.lines.get(index)!)),
	};
}

function restoreBuffer(buffer: XtermBuffer, state: BufferState, model: XtermAttributes): void {
	for (const [index, field] of FIELDS.entries()) buffer[field] = state.fields[index]!;
	buffer.savedCharset = state.savedCharset;
	restoreAttributes(buffer.savedCurAttrData, state.savedAttributes);
	buffer.tabs = {...state.tabs};
	buffer.lines.length = 0;
	for (const line of state.lines) {
		const blank = buffer.getBlankLine(model, line.isWrapped);
		restoreLine(blank, line, model.extended);
		buffer.lines.push(blank);
	}
}

function captureAttributes({fg, bg, extended}: XtermAttributes): AttributesState {
	return {fg, bg, ext: extended.ext};
}

function restoreAttributes(attributes: XtermAttributes, {fg, bg, ext}: AttributesState): void {
	attributes.fg = fg;
	attributes.bg = bg;
	attributes.extended = createExtended(attributes.extended, ext);
}

function captureLine(line: XtermLine): LineState {
	const {length, isWrapped, _data: data, _combined: combined, _extendedAttrs: attributes} = line;
	const blank = data.slice(-CELL_NUMBERS);
	let end = data.length;
	while (end > 0 && data[end - 1] === blank[(end - 1) % CELL_NUMBERS]) end--;
	const extended: Record<number, number> = {};
	for (const [index, each] of Object.entries(attributes)) if (each) extended[Number(index)] = each.ext;
	return {
		length,
		isWrapped,
		cells: data.slice(0, Math.ceil(end / CELL_NUMBERS) * CELL_NUMBERS),
		blank,
		combined,
		extended,
	};
}

function restoreLine(line: XtermLine, state: LineState, model: XtermExtended): void {
	line.length = state.length;
	line._data = new Uint32Array(state.length * CELL_NUMBERS);
	line._data.set(state.cells);
	for (let at = state.cells.length; at < line._data.length; at += CELL_NUMBERS) line._data.set(state.blank, at);
	Object.assign(line._combined, state.combined);
	for (const index of Object.keys(line._extendedAttrs)) delete line._extendedAttrs[Number(index)];
	for (const [index, ext] of Object.entries(state.extended)) {
		line._extendedAttrs[Number(index)] = createExtended(model, ext);
	}
}

function createExtended(model: XtermExtended, ext: number): XtermExtended {
	const extended = model.clone();
	extended.ext = ext;
	return extended;
}
