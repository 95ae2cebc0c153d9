import {toSafeJson} from '../../shared/safe-json.js';
import {printable} from './printable.js';

const CLEAR_LINE = '\r\u001B[K';

/** A text as one line that a terminal may show, whoever wrote the text. */
export function toLine(text: string): string {
	return printable(text.replaceAll(/\s*\n\s*/g, ' '));
}

/**
 * Writes lines about what happens to standard error. Everything a command says goes through here or `writeLines`: texts
 * of a server may be in it, and nothing in them may act on the terminal.
 */
export function writeMessage(...lines: readonly string[]): void {
	process.stderr.write(lines.map(line => `${toLine(line)}\n`).join(''));
}

/** Writes lines of a result to standard output. */
export function writeLines(lines: readonly string[]): void {
	process.stdout.write(lines.map(line => `${toLine(line)}\n`).join(''));
}

/** Writes a result for programs to standard output; what is escaped there is escaped as JSON. */
export function writeJson(value: unknown, indent?: string): void {
	process.stdout.write(`${toSafeJson(value, indent)}\n`);
}

/** Writes an event for programs to standard error. */
export function writeJsonMessage(value: unknown): void {
	process.stderr.write(`${toSafeJson(value)}\n`);
}

/** Replaces the present line of a terminal on standard error. */
export function redrawLine(text: string): void {
	process.stderr.write(`${CLEAR_LINE}${toLine(text)}`);
}

/** Leaves a line that was drawn as it is. */
export function endRedrawnLine(): void {
	process.stderr.write('\n');
}

/** Passes on what the command of a connection, such as ssh, says on its standard error: lines stay lines. */
export function relayStderr(text: string): void {
	process.stderr.write(text.replaceAll('\r\n', '\n').split('\n').map(printable).join('\n'));
}
