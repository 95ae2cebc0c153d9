import {suggestName} from '../../../shared/closest-name.js';

/** Bytes that a terminal sends for a key. */
const KEYS: Readonly<Record<string, string>> = {
	Enter: '\r',
	Tab: '\t',
	Esc: '\u001b',
	Escape: '\u001b',
	Space: ' ',
	Backspace: '\u007f',
	Delete: '\u001b[3~',
	Up: '\u001b[A',
	Down: '\u001b[B',
	Right: '\u001b[C',
	Left: '\u001b[D',
	Home: '\u001b[H',
	End: '\u001b[F',
	PageUp: '\u001b[5~',
	PageDown: '\u001b[6~',
	BackTab: '\u001b[Z',
	F1: '\u001bOP',
	F2: '\u001bOQ',
	F3: '\u001bOR',
	F4: '\u001bOS',
	F5: '\u001b[15~',
	F6: '\u001b[17~',
	F7: '\u001b[18~',
	F8: '\u001b[19~',
	F9: '\u001b[20~',
	F10: '\u001b[21~',
	F11: '\u001b[23~',
	F12: '\u001b[24~',
};

export const KEY_HINT = 'Enter, Tab, Esc, Up, C-c, M-x, F1';
/** Keys of one call. */
const MAX_KEYS = 1000;
const CONTROL_MASK = 0x1f;

/** Bytes of keys by name: `Enter`, `C-c`, `M-x`, or a single character. Throws a `TypeError` for one that does not exist. */
export function toKeyBytes(keys: readonly string[]): Uint8Array {
	if (keys.length > MAX_KEYS) throw new TypeError(`keys: at most ${MAX_KEYS}`);
	return new TextEncoder().encode(keys.map(toSequence).join(''));
}

function toSequence(key: string): string {
	const named = Object.keys(KEYS).find(name => name.toLowerCase() === key.toLowerCase());
	if (named !== undefined && key.length > 1) return KEYS[named]!;
	const [, control] = /^C-([a-z@[\\\]^_ ?])$/i.exec(key) ?? [];
	if (control === '?') return '\u007f';
	if (control !== undefined) return String.fromCharCode(control.toUpperCase().charCodeAt(0) & CONTROL_MASK);
	const [, meta] = /^M-(.+)$/su.exec(key) ?? [];
	if (meta !== undefined) return `\u001b${toSequence(meta)}`;
	if (/^.$/su.test(key)) return key;
	const near = suggestName(key, Object.keys(KEYS));
	throw new TypeError(
		`keys: there is no key ${JSON.stringify(key)};${near} expected ${KEY_HINT}; words belong in text`,
	);
}
