interface Ending {
	/** Whether the mode is in the way when it is set, or when it is not. */
	readonly whenSet: boolean;
	readonly ending: string;
}

const ESCAPE = '\u001B';
/** Begins a sequence that changes modes: their numbers and `h` or `l` follow. */
const PREFIX = `${ESCAPE}[?`;
/** Modes that would be in the way of a shell if a program left them on, and how each is ended. */
const ENDINGS: ReadonlyMap<number, Ending> = new Map<number, Ending>([
	// Application cursor keys, the other screen, mouse reports, focus reports, marked pastes.
	...[1, 47, 1047, 1049, 1000, 1002, 1003, 1005, 1006, 1015, 1004, 2004].map(
		mode => [mode, {whenSet: true, ending: `${PREFIX}${mode}l`}] as const,
	),
	// The cursor is shown unless that was turned off.
	[25, {whenSet: false, ending: `${PREFIX}25h`}],
]);
/** Of the other screen, which programs that use all of the window draw on. */
const ALTERNATE_MODES = [47, 1047, 1049];
const ATTRIBUTES_OFF = `${ESCAPE}[0m`;
/** Longest escape sequence that may continue in the next chunk, in characters. */
const MAX_UNFINISHED_LENGTH = 64;

/** Which modes of a terminal the output of a program has left on. */
export class ScreenModes {
	readonly #left = new Set<number>();
	#unfinished = '';

	scan(output: Uint8Array): void {
		const text = this.#unfinished + Buffer.from(output.buffer, output.byteOffset, output.length).toString('latin1');
		for (const rest of text.split(PREFIX).slice(1)) {
			const [, modes = '', action] = /^([\d;]+)([hl])/.exec(rest) ?? [];
			if (action) for (const mode of modes.split(';').map(Number)) this.#note(mode, action === 'h');
		}
		this.#unfinished = findUnfinishedEnd(text);
	}

	/** Sequences that undo the modes left on; empty when there are none. */
	get endings(): string {
		if (this.#left.size === 0) return '';
		return [...this.#left].map(mode => ENDINGS.get(mode)!.ending).join('') + ATTRIBUTES_OFF;
	}

	/** Whether a program draws on all of the window. */
	get isAlternate(): boolean {
		return ALTERNATE_MODES.some(mode => this.#left.has(mode));
	}

	#note(mode: number, isSet: boolean): void {
		const known = ENDINGS.get(mode);
		if (!known) return;
		if (known.whenSet === isSet) this.#left.add(mode);
		else this.#left.delete(mode);
	}
}

/** The beginning of a sequence that may continue in the next chunk. */
function findUnfinishedEnd(text: string): string {
	const at = text.lastIndexOf(ESCAPE);
	if (at === -1 || text.length - at > MAX_UNFINISHED_LENGTH) return '';
	return /^(?:\[(?:\?[\d;]*)?)?$/.test(text.slice(at + 1)) ? text.slice(at) : '';
}
