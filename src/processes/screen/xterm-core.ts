/**
 * The parts of xterm's terminal that its public interface does not show. A model needs them to be copied exactly, and to
 * parse at once, so that an error of the parser is caught. The version of the package is pinned for this.
 */
export interface XtermCore {
	readonly _inputHandler: {
		parse(bytes: Uint8Array): unknown;
		readonly scrollUp: SequenceHandler;
		readonly scrollDown: SequenceHandler;
		readonly insertLines: SequenceHandler;
		readonly deleteLines: SequenceHandler;
		readonly cursorForwardTab: SequenceHandler;
		readonly cursorBackwardTab: SequenceHandler;
		setHyperlink(command: string): boolean;
		readonly _parser: {
			currentState: number;
			precedingJoinState: number;
			clearOscHandler(command: number): void;
			registerOscHandler(command: number, handler: XtermPayloadHandler): unknown;
			clearDcsHandler(id: {readonly intermediates: string; readonly final: string}): void;
		};
		readonly _utf8Decoder: {readonly interim: Uint8Array};
		_curAttrData: XtermAttributes;
	};
	/** Links of the lines that are kept. */
	readonly _oscLinkService: {readonly _dataByLinkId: ReadonlyMap<number, unknown>};
	readonly _charsetService: {
		charset: XtermCharset | undefined;
		glevel: number;
		_charsets: (XtermCharset | undefined)[];
	};
	readonly coreService: {
		isCursorInitialized: boolean;
		isCursorHidden: boolean;
		readonly modes: Record<string, unknown>;
		readonly decPrivateModes: Record<string, unknown>;
	};
	readonly optionsService: {readonly options: {convertEol: boolean}};
	readonly buffers: {
		readonly normal: XtermBuffer;
		readonly alt: XtermBuffer;
		readonly active: XtermBuffer;
		activateAltBuffer(): void;
	};
}

/** Receives the text of a command as it is parsed, in code points. */
export interface XtermPayloadHandler {
	start(): void;
	put(codes: Uint32Array, start: number, end: number): void;
	/** `isComplete` is false if the command was cancelled. */
	end(isComplete: boolean): boolean;
}

type SequenceHandler = (parameters: {readonly params: readonly number[]}) => boolean;

export type XtermCharset = Readonly<Record<string, string>>;

export interface XtermAttributes {
	fg: number;
	bg: number;
	extended: XtermExtended;
	clone(): XtermAttributes;
}

export interface XtermExtended {
	ext: number;
	clone(): XtermExtended;
}

export interface XtermLine {
	/** Columns; a line of the alternate screen may have more than the terminal. */
	length: number;
	isWrapped: boolean;
	/** Three numbers for each cell. */
	_data: Uint32Array;
	readonly _combined: Record<number, string>;
	readonly _extendedAttrs: Record<number, XtermExtended | undefined>;
	/** Frees memory of a line that was longer. */
	cleanupMemory(): number;
	clone(): XtermLine;
}

export interface XtermBuffer {
	x: number;
	y: number;
	ybase: number;
	ydisp: number;
	scrollTop: number;
	scrollBottom: number;
	savedX: number;
	savedY: number;
	savedCharset: XtermCharset | undefined;
	readonly savedCurAttrData: XtermAttributes;
	tabs: Record<number, boolean | undefined>;
	readonly lines: {
		length: number;
		maxLength: number;
		get(index: number): XtermLine | undefined;
		set(index: number, line: XtermLine): void;
		push(line: XtermLine): void;
	};
	readonly _memoryCleanupQueue: {clear(): void};
	getBlankLine(attributes: XtermAttributes, isWrapped?: boolean): XtermLine;
}

/** State of the parser between two sequences. */
const GROUND = 0;

export function coreOf(terminal: object): XtermCore {
	return (terminal as unknown as {_core: XtermCore})._core;
}

/** Whether the output so far ends between two characters and two sequences: only then all of the state can be copied. */
export function isBetweenSequences({_inputHandler: input}: XtermCore): boolean {
	return input._parser.currentState === GROUND && input._utf8Decoder.interim.every(byte => byte === 0);
}

/**
 * Mends the buffers after a change of size: xterm leaves out lines when a terminal without lines above the screen gets
 * wider, and gives the other screen room for such lines when it gets lower.
 */
export function mendBuffers({buffers, _inputHandler: input}: XtermCore, rows: number): void {
	for (const buffer of [buffers.normal, buffers.alt]) {
		// It would do this later, and complain on the console when that is late.
		buffer._memoryCleanupQueue.clear();
		for (let row = 0; row < buffer.lines.length; row++) buffer.lines.get(row)?.cleanupMemory();
		buffer.lines.maxLength = rows;
		if (buffer.lines.length === 0) continue;
		while (buffer.lines.length < buffer.ybase + rows) {
			if (buffer.ybase > 0) buffer.ybase--;
			else buffer.lines.push(buffer.getBlankLine(plainAttributes(input._curAttrData)));
		}
		buffer.ydisp = buffer.ybase;
	}
}

function plainAttributes(model: XtermAttributes): XtermAttributes {
	const plain = model.clone();
	plain.fg = 0;
	plain.bg = 0;
	return plain;
}

type XtermModule = typeof import('@xterm/headless');

/** Loads the package when it is needed first: its loading takes longer than that of the server. */
export async function loadXterm(): Promise<XtermModule> {
	// Its types do not tell that it is a module of the older format, whose only export is the default one.
	const {default: xterm} = (await import('@xterm/headless')) as unknown as {default: XtermModule};
	return xterm;
}
