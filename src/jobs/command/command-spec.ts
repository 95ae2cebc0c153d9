import {JobInputError} from '../input/job-input-error.js';
import {quoteForShell, Template, type TemplateValues} from '../input/template.js';
import type {JobDescription} from '../job-description.js';

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

/** The command of an item, without a shell or for one. */
export class CommandTemplate {
	readonly #line: Template | undefined;
	readonly #words: readonly Template[];

	/** Throws a `JobInputError` for a name that is no column. */
	constructor({command}: CommandSpec, {headers, inputFormat}: Pick<JobDescription, 'headers' | 'inputFormat'>) {
		const columns = inputFormat === 'csv' ? headers : undefined;
		const parse = (text: string): Template => new Template(text, {columns, unknown: 'refuse'});
		this.#line = 'line' in command ? parse(command.line) : undefined;
		this.#words = 'argv' in command ? command.argv.map(parse) : [];
	}

	render(values: TemplateValues): string[] {
		if (this.#line) return [SHELL, '-c', this.#line.render(values, quoteForShell)];
		return this.#words.map(word => word.render(values));
	}
}

/** Throws a `JobInputError` for a template with a name that is no column. */
export function requireColumns(spec: CommandSpec, job: Pick<JobDescription, 'headers' | 'inputFormat'>): void {
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
