/** Replacement of one piece of a text; everything around it stays as it is, byte by byte. */
export interface TextEdit {
	readonly start: number;
	readonly end: number;
	readonly text: string;
}

export function applyEdit(text: string, {start, end, text: inserted}: TextEdit): string {
	return text.slice(0, start) + inserted + text.slice(end);
}

/** The file cannot be read as its format demands, or is laid out in a way that is not edited here. */
export class UneditableError extends Error {
	override readonly name = 'UneditableError';
}

/** `\r\n` where the text has it. */
export function lineEndOf(text: string): string {
	return text.includes('\r\n') ? '\r\n' : '\n';
}
