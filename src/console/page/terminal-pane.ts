import {FitAddon} from '@xterm/addon-fit';
import {SearchAddon} from '@xterm/addon-search';
import {WebLinksAddon} from '@xterm/addon-web-links';
import {type ITheme, Terminal} from '@xterm/xterm';
import type {ScreenSize} from '../../client/process/shared-process.js';
import {CHARACTER_WIDTHS} from '../../processes/screen/character-width.js';
import {limitOscCommands, limitRepetitions} from '../../processes/screen/repeated-sequences.js';
import {coreOf} from '../../processes/screen/xterm-core.js';
import type {ViewerTerminal} from './process-viewer.js';
import {toShown} from './shown-text.js';

/** Size of the font in a log, and of a terminal that is fitted to its pane. */
const NORMAL_FONT_PX = 14;
/** Bounds between which the font of a terminal follows the size of its pane. */
const MAX_FONT_PX = 28;
const MIN_FONT_PX = 7;
/** Lines that can be scrolled back to; 10 MB at 200 columns. */
const SCROLLBACK_LINES = 5000;
/** Output that is given to xterm at once, in bytes or characters. */
const MAX_WRITTEN_LENGTH = 4096;
/** Links in the lines of a terminal; each of them makes every line feed slower. */
const MAX_LINKS = 500;
/** OSC command that begins a link or ends one, and its text if it ends one. */
const LINK_COMMAND = 8;
const NO_LINK = ';';
/** Keys that stay the browser's: reload, panes, full screen, tools. The keyboard is never caught in the terminal. */
const BROWSER_KEYS: ReadonlySet<string> = new Set(['F5', 'F6', 'F7', 'F11', 'F12']);

const DARK: ITheme = {
	background: '#11151a',
	foreground: '#d7dde4',
	cursor: '#d7dde4',
	cursorAccent: '#11151a',
	selectionBackground: '#31507a',
	black: '#2b3138',
	red: '#f0747b',
	green: '#7cc67e',
	yellow: '#e0b964',
	blue: '#76a9f5',
	magenta: '#c792ea',
	cyan: '#62c7c7',
	white: '#c9d1d9',
	brightBlack: '#7d8894',
	brightRed: '#ff949a',
	brightGreen: '#9be09c',
	brightYellow: '#f2d38a',
	brightBlue: '#9ac2ff',
	brightMagenta: '#dcb3f7',
	brightCyan: '#8fe0e0',
	brightWhite: '#f4f7fa',
};

const LIGHT: ITheme = {
	background: '#fdfdfc',
	foreground: '#22272e',
	cursor: '#22272e',
	cursorAccent: '#fdfdfc',
	selectionBackground: '#bcd6f5',
	black: '#22272e',
	red: '#b3202c',
	green: '#1f7a33',
	yellow: '#8a5d00',
	blue: '#1d5fc2',
	magenta: '#8034b5',
	cyan: '#0f7078',
	white: '#d5d9dd',
	brightBlack: '#59626d',
	brightRed: '#c93a44',
	brightGreen: '#2c8a40',
	brightYellow: '#9b6b08',
	brightBlue: '#2f72d6',
	brightMagenta: '#9248c7',
	brightCyan: '#1c828a',
	brightWhite: '#ffffff',
};

export interface TerminalPaneOptions {
	/** Keys, or answers of the terminal. */
	readonly typed: (data: string) => void;
	readonly titled: (title: string) => void;
	/** Whether keys go to the process; the browser has them otherwise. */
	readonly takesKeys: () => boolean;
	/** The keyboard leaves the terminal: Control, Shift and Space. */
	readonly left: () => void;
	/** Of a log: as many columns as there is room, and line feeds alone begin a new line. */
	readonly isLog: boolean;
	/** Without lines to scroll back to, as for a past screen. */
	readonly isStill?: boolean;
}

/**
 * The terminal of a process in an element. It has the size of the driver's terminal; only its font follows the size of the
 * element, so that no viewer resizes anything.
 */
export class TerminalPane implements ViewerTerminal, Disposable {
	readonly search = new SearchAddon();
	readonly #terminal: Terminal;
	readonly #fit = new FitAddon();
	readonly #element: HTMLElement;
	readonly #observer: ResizeObserver;
	readonly #dark = matchMedia('(prefers-color-scheme: dark)');
	readonly #recolour = (): void => {
		this.#terminal.options.theme = this.#dark.matches ? DARK : LIGHT;
	};
	readonly #isLog: boolean;

	constructor(element: HTMLElement, {typed, titled, takesKeys, left, isLog, isStill}: TerminalPaneOptions) {
		this.#element = element;
		this.#isLog = isLog;
		this.#terminal = new Terminal({
			allowProposedApi: true,
			convertEol: isLog,
			cursorBlink: false,
			disableStdin: false,
			fontFamily: 'ui-monospace, "SF Mono", "Cascadia Mono", "JetBrains Mono", "DejaVu Sans Mono", Menlo, monospace',
			fontSize: NORMAL_FONT_PX,
			scrollback: isStill ? 0 : SCROLLBACK_LINES,
			theme: this.#dark.matches ? DARK : LIGHT,
			minimumContrastRatio: 4.5,
			screenReaderMode: false,
			linkHandler: {
				activate: (_, uri) => openLink(uri),
				// The text of a link may name another address than the one it leads to.
				hover: (_, uri) => {
					element.title = toShown(uri);
				},
				leave: () => element.removeAttribute('title'),
				allowNonHttpProtocols: false,
			},
		});
		this.#terminal.unicode.register(CHARACTER_WIDTHS);
		this.#terminal.unicode.activeVersion = CHARACTER_WIDTHS.version;
		limitRepetitions(this.#terminal);
		limitOscCommands(this.#terminal);
		limitLinks(this.#terminal);
		this.#terminal.loadAddon(this.#fit);
		this.#terminal.loadAddon(this.search);
		this.#terminal.loadAddon(new WebLinksAddon((_, uri) => openLink(uri)));
		this.#terminal.attachCustomKeyEventHandler(({type, code, key, ctrlKey, shiftKey, metaKey}) => {
			if (ctrlKey && shiftKey && code === 'Space' && type === 'keydown') left();
			return takesKeys() && !metaKey && !(ctrlKey && shiftKey) && !BROWSER_KEYS.has(key);
		});
		this.#terminal.onData(typed);
		this.#terminal.onBinary(typed);
		this.#terminal.onTitleChange(titled);
		this.#terminal.open(element);
		this.#terminal.textarea?.setAttribute('aria-label', 'Terminal input. Control, Shift and Space leave it.');
		this.#observer = new ResizeObserver(() => this.#scale());
		this.#observer.observe(element);
		this.#dark.addEventListener('change', this.#recolour);
		this.#scale();
	}

	get size(): ScreenSize {
		return {rows: this.#terminal.rows, cols: this.#terminal.cols};
	}

	/** xterm lets the page continue between two writes only, so output is written in parts. */
	write(data: Uint8Array | string, done?: () => void): void {
		let rest = data;
		while (rest.length > MAX_WRITTEN_LENGTH) {
			this.#terminal.write(rest.slice(0, MAX_WRITTEN_LENGTH));
			rest = rest.slice(MAX_WRITTEN_LENGTH);
		}
		this.#terminal.write(rest, done);
	}

	reset(): void {
		this.#terminal.reset();
	}

	resize({rows, cols}: ScreenSize): void {
		if (this.#isLog) return;
		this.#terminal.resize(cols, rows);
		this.#scale();
	}

	shownLines(): string[] {
		const {active} = this.#terminal.buffer;
		const rows = Array.from({length: this.#terminal.rows}, (_, row) => active.baseY + row);
		return rows.map(row => active.getLine(row)?.translateToString(true).trimEnd() ?? '');
	}

	/** All lines, for a screen reader or the clipboard. */
	text(): string {
		const {active} = this.#terminal.buffer;
		const lines = Array.from({length: active.length}, (_, row) => active.getLine(row)?.translateToString(true) ?? '');
		return lines.join('\n').trimEnd();
	}

	/** Rows and columns that the element has room for at the normal size of the font. */
	roomySize(): ScreenSize | undefined {
		const {fontSize} = this.#terminal.options;
		this.#terminal.options.fontSize = NORMAL_FONT_PX;
		const proposed = this.#fit.proposeDimensions();
		this.#terminal.options.fontSize = fontSize ?? NORMAL_FONT_PX;
		return proposed && {rows: proposed.rows, cols: proposed.cols};
	}

	focus(): void {
		this.#terminal.focus();
	}

	/** Puts a text in as the user would paste it. */
	paste(text: string): void {
		this.#terminal.paste(text);
	}

	/** Whether arrow keys have their other form, as in an editor. */
	get hasApplicationKeys(): boolean {
		return this.#terminal.modes.applicationCursorKeysMode;
	}

	/** Whether lines are there for a screen reader, too; that costs time with every line, so it is off at first. */
	get isSpoken(): boolean {
		return this.#terminal.options.screenReaderMode === true;
	}

	set isSpoken(value: boolean) {
		this.#terminal.options.screenReaderMode = value;
	}

	[Symbol.dispose](): void {
		this.#observer.disconnect();
		this.#dark.removeEventListener('change', this.#recolour);
		this.#terminal.dispose();
	}

	/** The largest font with which all of the driver's terminal is seen; below the smallest the element scrolls. */
	#scale(): void {
		const screen = this.#element.querySelector<HTMLElement>('.xterm-screen');
		const {clientWidth, clientHeight} = this.#element;
		if (!screen || clientWidth === 0 || screen.offsetWidth === 0) return;
		if (this.#isLog) {
			this.#terminal.options.fontSize = clientWidth < 600 ? 11 : 13;
			this.#fit.fit();
			return;
		}
		const {fontSize = NORMAL_FONT_PX} = this.#terminal.options;
		const ratio = Math.min((clientWidth - 16) / screen.offsetWidth, (clientHeight - 8) / screen.offsetHeight);
		const wanted = Math.min(MAX_FONT_PX, Math.max(MIN_FONT_PX, Math.floor(fontSize * ratio * 2) / 2));
		if (wanted !== fontSize) this.#terminal.options.fontSize = wanted;
	}
}

/** Shows the text of further links without the link. */
function limitLinks(terminal: Terminal): void {
	const {_oscLinkService: links, _inputHandler: handlers} = coreOf(terminal);
	terminal.parser.registerOscHandler(LINK_COMMAND, text => {
		const isRefused = !text.endsWith(NO_LINK) && links._dataByLinkId.size >= MAX_LINKS;
		return isRefused && handlers.setHyperlink(NO_LINK);
	});
}

/** Addresses in output are somebody else's: only those of web pages are followed, and these learn nothing of this one. */
function openLink(uri: string): void {
	if (!URL.canParse(uri)) return;
	const {protocol, href} = new URL(uri);
	if (protocol === 'http:' || protocol === 'https:') window.open(href, '_blank', 'noopener,noreferrer');
}
