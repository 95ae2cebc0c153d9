/** One statement of a TOML text with the lines it takes, the last line end included. */
export interface Statement {
	readonly kind: 'blank' | 'comment' | 'header' | 'pair';
	readonly text: string;
}

type Inside = 'nothing' | '"' | "'" | '"""' | "'''";

const OPENERS: ReadonlySet<string> = new Set(['[', '{']);
const CLOSERS: ReadonlySet<string> = new Set([']', '}']);

/** Cuts a valid TOML text into statements; put together again they are the text. Lists and strings may take many lines. */
export function toStatements(text: string): Statement[] {
	const statements: Statement[] = [];
	for (let start = 0; start < text.length; ) {
		const end = findEndOfStatement(text, start);
		const piece = text.slice(start, end);
		statements.push({kind: classify(piece), text: piece});
		start = end;
	}
	return statements;
}

/** Behind the first line end that is neither in a string nor in a list. */
function findEndOfStatement(text: string, start: number): number {
	let inside: Inside = 'nothing';
	let depth = 0;
	for (let at = start; at < text.length; ) {
		const char = text[at]!;
		if (inside !== 'nothing') {
			const isEscape = char === '\\' && inside.startsWith('"');
			if (isEscape) at += 2;
			else if (text.startsWith(inside, at)) {
				at += inside.length;
				// A string of many lines may end with quotes of its own.
				while (inside.length > 1 && text[at] === inside[0]) at++;
				inside = 'nothing';
			} else at++;
			continue;
		}
		if (char === '#') {
			const lineEnd = text.indexOf('\n', at);
			at = lineEnd < 0 ? text.length : lineEnd;
			continue;
		}
		if (char === '\n' && depth === 0) return at + 1;
		if (OPENERS.has(char)) depth++;
		else if (CLOSERS.has(char)) depth--;
		else if (char === '"' || char === "'") {
			inside = text.startsWith(char.repeat(3), at) ? (char.repeat(3) as Inside) : char;
			at += inside.length;
			continue;
		}
		at++;
	}
	return text.length;
}

function classify(piece: string): Statement['kind'] {
	const start = piece.trimStart();
	if (start === '') return 'blank';
	if (start.startsWith('#')) return 'comment';
	return start.startsWith('[') ? 'header' : 'pair';
}
