import {JobInputError} from '../input/job-input-error.js';
import {Template, type TemplateValues} from '../input/template.js';
import type {JobDescription} from '../job-description.js';
import {findLineInWords, ShellLine} from './shell-line.js';

/** Where the result of a command comes from. */
export const RESULT_MODES = ['any', 'auto', 'stdout', 'last-line', 'report', 'exit'] as const;
/**
 * `any`: a report, else an object on standard output, else exit code 0; `auto`: the same, but an exit code alone is not enough;
 * `exit`: exit code 0 is success, whatever was printed.
 */
export type ResultMode = (typeof RESULT_MODES)[number];

/** A command for every row. */
export interface CommandSpec {
	readonly kind: 'command';
	/** A line for the shell, or a program with its arguments; both are templates. */
	readonly command: {readonly line: string} | {readonly argv: readonly string[]};
	readonly result: ResultMode;
	/** Whether the row comes on standard input as JSON. */
	readonly stdin: 'row' | 'none';
	/** Attempts whose output is kept in files. */
	readonly logs: 'all' | 'failed' | 'none';
}

const SHELL = '/bin/sh';

/** A command with the variables that it needs. */
export interface RenderedCommand {
	readonly argv: string[];
	readonly variables: Readonly<Record<string, string>>;
}

/** The command of an item, without a shell or for one. */
export class CommandTemplate {
	/** Arguments; one of them may be a line for the shell. */
	readonly #words: readonly (Template | ShellLine)[];

	/** Throws a `JobInputError` for a name that is no column, and for a value that would be run as code. */
	constructor({command}: CommandSpec, {headers, inputFormat}: Pick<JobDescription, 'headers' | 'inputFormat'>) {
		const columns = inputFormat === 'csv' ? headers : undefined;
		const parse = (text: string): Template => new Template(text, {columns, unknown: 'refuse'});
		const words = ('line' in command ? [SHELL, '-c', command.line] : command.argv).map(parse);
		const line = findLineInWords(words.map(({parts}) => parts));
		this.#words = words.map((word, index) => (index === line ? new ShellLine(word.parts) : word));
	}

	/** Throws a `JobInputError` for a row whose values cannot be used. */
	render(values: TemplateValues): RenderedCommand {
		let variables: Readonly<Record<string, string>> = {};
		const argv = this.#words.map(word => {
			if (word instanceof Template) return word.render(values);
			const rendered = word.render(values);
			({variables} = rendered);
			return rendered.line;
		});
		return {argv, variables};
	}
}

/** Throws a `JobInputError` for a command that cannot be used with such rows. */
export function requireUsableCommand(spec: CommandSpec, job: Pick<JobDescription, 'headers' | 'inputFormat'>): void {
	void new CommandTemplate(spec, job);
}

/** `["tool","{path}"]` as a list of words. */
export function parseArgv(text: string): readonly string[] {
	let value: unknown;
	try {
		value = JSON.parse(text);
	} catch (cause) {
		throw new JobInputError(`not a JSON list: ${(cause as Error).message}`, {cause});
	}
	const isList = Array.isArray(value) && value.length > 0 && value.every(word => typeof word === 'string');
	if (!isList) throw new JobInputError('must be a JSON list of texts, program first');
	return value as string[];
}
