import {JobInputError} from '../input/job-input-error.js';
import {type TemplatePart, type TemplateValues, valueOf} from '../input/template.js';
import {EXPANSION_MARK, findCodePlace, indexOfScript, isNamePlace, readsProgram, VALUE_MARK} from './code-places.js';

/** Variables with the values of a line. */
const VARIABLE_PREFIX = 'LONGARM_VALUE_';
/** Values in one command, and levels of parentheses. */
const MAX_VALUES = 1000;
const MAX_LEVELS = 100;
const NUMBER = /^[-+]?(?:0[xX][\dA-Fa-f]+|\d+)$/;
/** Words that end a compound command: what goes on behind it is about everything in it. */
const COMPOUND_ENDS = new Set(['}', 'done', 'fi', 'esac']);

type ValuePart = Extract<TemplatePart, {kind: 'value'}>;
/** A character of the line, or the place of a value. */
type Token = string | ValuePart;

/** A line for the shell with the variables that it refers to. */
export interface RenderedLine {
	readonly line: string;
	readonly variables: Readonly<Record<string, string>>;
}

/**
 * A line for a POSIX shell. It is the same for every row: values are in variables, and in their places the line refers to those,
 * so that no shell ever parses a value. A value that has to be a part of the line itself, or is code for another program, is refused
 * with a `JobInputError`.
 */
export class ShellLine {
	readonly #pieces: readonly (string | ValuePart)[];
	readonly #variables: ReadonlyMap<string, string>;
	readonly #numbers: ReadonlySet<string>;

	constructor(parts: readonly TemplatePart[]) {
		const reader = new LineReader(parts);
		this.#pieces = reader.read();
		this.#variables = reader.variables;
		this.#numbers = reader.numbers;
	}

	/** Throws a `JobInputError` for a value that is to be calculated with, and is no whole number. */
	render(values: TemplateValues): RenderedLine {
		const variables = [...this.#variables].map(([name, variable]) => {
			const value = valueOf(name, values);
			if (this.#numbers.has(name) && !NUMBER.test(value.trim())) {
				throw new JobInputError(`{${name}} stands in a calculation, and its value is no whole number`);
			}
			return [variable, value] as const;
		});
		const line = this.#pieces.map(piece => (typeof piece === 'string' ? piece : valueOf(piece.name, values))).join('');
		return {line, variables: Object.fromEntries(variables)};
	}
}

/**
 * Number of the argument that is a line for the shell, as in `["sh", "-c", "echo {name}"]`; undefined without one. Values in other
 * arguments that a program takes as code are refused with a `JobInputError`.
 */
export function findLineInWords(words: readonly (readonly TemplatePart[])[]): number | undefined {
	const texts = words.map(parts => parts.map(part => (part.kind === 'text' ? part.text : VALUE_MARK)).join(''));
	const line = indexOfScript(texts);
	requireFewValues(words.flat());
	for (const [index, parts] of words.entries()) {
		const value = parts.find(part => part.kind === 'value' && !part.isRaw) as ValuePart | undefined;
		if (!value || index === line) continue;
		refuseCode(value.name, findCodePlace(texts.slice(0, index), texts[index]!.split(VALUE_MARK)[0]!));
	}
	return line;
}

/** Words of a command without their quotes. */
interface Command {
	readonly words: string[];
	/** Undefined between words. */
	word: string | undefined;
	/** The word is the target of a redirection. */
	isTarget: boolean;
	hasValue: boolean;
	/** The input from its pipe has a value in it. */
	readonly isFedValues: boolean;
}

/** Commands between parentheses, or of the whole line. */
interface Frame {
	command: Command;
	/** `case` without their `esac`: patterns end with a parenthesis that closes nothing. */
	openCases: number;
	/** A value in it, for errors. */
	value: string | undefined;
}

interface HereDocument {
	readonly delimiter: string;
	readonly isQuoted: boolean;
	readonly stripsTabs: boolean;
	readonly command: Command;
}

/** Reads a line as a shell does, as far as it has to know where values stand. */
class LineReader {
	readonly variables = new Map<string, string>();
	readonly numbers = new Set<string>();
	readonly #tokens: readonly Token[];
	readonly #pieces: (string | ValuePart)[] = [];
	#at = 0;
	/** Tokens behind it are not read for now. */
	#end: number;
	#documents: HereDocument[] = [];
	#levels = 0;

	constructor(parts: readonly TemplatePart[]) {
		requireFewValues(parts);
		this.#tokens = parts.flatMap((part): Token[] => (part.kind === 'text' ? part.text.split('') : [part]));
		this.#end = this.#tokens.length;
	}

	read(): readonly (string | ValuePart)[] {
		this.#readCommands(false);
		return this.#pieces;
	}

	/** Up to the closing parenthesis, or to the end. */
	#readCommands(hasEnd: boolean): Frame {
		if (++this.#levels > MAX_LEVELS) throw new JobInputError(`the command has more than ${MAX_LEVELS} levels`);
		const frame = newFrame();
		for (let token = this.#next(); token !== undefined; token = this.#next()) {
			if (token === ')') this.#endWord(frame);
			if (token === ')' && hasEnd && frame.openCases === 0) break;
			this.#readToken(frame, token);
		}
		this.#endCommand(frame);
		this.#levels--;
		return frame;
	}

	#readToken(frame: Frame, token: Token): void {
		const {command} = frame;
		if (typeof token !== 'string') return this.#insert(frame, token, variable => `"\${${variable}}"`);
		switch (token) {
			case ' ':
			case '\t':
				return this.#endWord(frame);
			case '\n':
				this.#endCommand(frame);
				return this.#readDocuments(frame);
			case '\\':
				return this.#readEscaped(command);
			case "'":
				return this.#readApostrophes(frame);
			case '"':
				addText(command, '');
				return this.#readExpanded(frame, '"');
			case '$':
				return this.#readDollar(frame, true);
			case '`':
				return this.#readBackticks(command);
			case '#':
				return command.word === undefined ? this.#readComment() : addText(command, token);
			case '<':
			case '>':
				return this.#readRedirection(frame, token);
			case '(':
				return this.#readParenthesis(frame);
			case ';':
			case '&':
			case ')':
				return this.#endCommand(frame);
			case '|':
				return this.#endPiped(frame);
			default:
				return addText(command, token);
		}
	}

	#readEscaped(command: Command): void {
		const next = this.#next('behind a backslash');
		// The end of a line behind a backslash is none.
		if (next !== '\n') addText(command, typeof next === 'string' ? next : '');
	}

	#readApostrophes(frame: Frame): void {
		addText(frame.command, '');
		for (let token = this.#next(); token !== undefined && token !== "'"; token = this.#next()) {
			if (typeof token === 'string') addText(frame.command, token);
			else this.#insert(frame, token, variable => `'"\${${variable}}"'`);
		}
	}

	/** A text in which only `$`, backticks and backslashes mean something, up to `end`. */
	#readExpanded(frame: Frame, end: string | undefined): void {
		for (let token = this.#next(); token !== undefined && token !== end; token = this.#next()) {
			if (typeof token !== 'string') this.#insert(frame, token, variable => `\${${variable}}`);
			else if (token === '\\') this.#readEscaped(frame.command);
			else if (token === '$') this.#readDollar(frame, false);
			else if (token === '`') this.#readBackticks(frame.command);
			else addText(frame.command, token);
		}
	}

	#readDollar(frame: Frame, isBare: boolean): void {
		const next = this.#peek();
		if (typeof next === 'object' && !next.isRaw) {
			const {name} = next;
			throw new JobInputError(`{${name}} stands behind a $: write $\{{${name}}} for a variable of the shell`);
		}
		if (next === '(' && this.#peek(1) === '(') this.#readCalculation(frame, 2);
		else if (next === '(') {
			this.#next();
			this.#takeValue(frame, this.#readCommands(true));
		} else if (next === '{') this.#readWithout('}', 'within ${...}');
		else if (next === "'" && isBare) {
			this.#next();
			this.#readWithout("'", "within $'...'");
		}
		addText(frame.command, EXPANSION_MARK);
	}

	/** A calculation between two pairs of parentheses, of which `left` are still to be opened. */
	#readCalculation(frame: Frame, left: number): void {
		for (let count = 0; count < left; count++) this.#next();
		for (let depth = 2; depth > 0; ) {
			const token = this.#next();
			if (token === undefined) return;
			if (token === '(') depth++;
			else if (token === ')') depth--;
			else if (token === '$') this.#readDollar(frame, false);
			else if (token === '`') this.#readBackticks(frame.command);
			else if (typeof token !== 'string') {
				if (!token.isRaw) this.numbers.add(token.name);
				this.#insert(frame, token, variable => `\${${variable}}`);
			}
		}
	}

	#readBackticks(command: Command): void {
		addText(command, EXPANSION_MARK);
		this.#readWithout('`', 'within backticks, but within $(...)');
	}

	/** Up to a character, of braces to the one that closes the first. */
	#readWithout(end: string, where: string): void {
		let depth = 0;
		for (let token = this.#next(where); token !== undefined; token = this.#next(where)) {
			if (token === '\\') this.#next(where);
			else if (end === '}' && token === '{') depth++;
			else if (token === end && (end !== '}' || --depth === 0)) return;
		}
	}

	/** Values are left out: nothing in a comment counts. */
	#readComment(): void {
		for (let next = this.#peek(); next !== undefined && next !== '\n'; next = this.#peek()) this.#next();
	}

	#readRedirection(frame: Frame, token: string): void {
		const {command} = frame;
		// The number of a descriptor is no argument.
		if (command.word !== undefined && /^\d+$/.test(command.word)) command.word = undefined;
		this.#endWord(frame);
		if (this.#peek() === '(') {
			this.#next();
			return this.#readParenthesis(frame);
		}
		if (token === '<' && this.#peek() === '<' && this.#peek(1) !== '<') return this.#readDelimiter(command);
		while (['<', '>', '&', '|'].includes(this.#peek() as string)) this.#next();
		command.isTarget = true;
	}

	#readDelimiter(command: Command): void {
		this.#next();
		const stripsTabs = this.#peek() === '-';
		if (stripsTabs) this.#next();
		while (this.#peek() === ' ' || this.#peek() === '\t') this.#next();
		const where = 'in the delimiter of a here-document';
		let delimiter = '';
		let isQuoted = false;
		let quote: string | undefined;
		for (let next = this.#peek(); next !== undefined; next = this.#peek()) {
			if (quote === undefined && typeof next === 'string' && /[\s;&|<>()]/.test(next)) break;
			const isEscape = next === '\\' && quote !== "'";
			if (isEscape) this.#next();
			const token = this.#next(where);
			if (isEscape) isQuoted = true;
			if (!isEscape && token === quote) quote = undefined;
			else if (!isEscape && quote === undefined && (token === "'" || token === '"')) [quote, isQuoted] = [token, true];
			else delimiter += typeof token === 'string' ? token : '';
		}
		this.#documents.push({delimiter, isQuoted, stripsTabs, command});
	}

	/** The bodies of here-documents begin behind the line. */
	#readDocuments(frame: Frame): void {
		const documents = this.#documents;
		this.#documents = [];
		for (const each of documents) this.#readDocument(each, frame);
	}

	#readDocument({delimiter, isQuoted, stripsTabs, command}: HereDocument, frame: Frame): void {
		const [outerEnd, end] = [this.#end, this.#findDelimiter(delimiter, stripsTabs)];
		this.#end = end;
		const body = newFrame();
		if (!isQuoted) this.#readExpanded(body, undefined);
		while (this.#at < end) this.#next('in a here-document with a quoted delimiter, but in one without quotes');
		this.#end = outerEnd;
		if (body.value !== undefined && readsProgram(command.words)) refuseCode(body.value, 'the program of a shell');
		frame.value ??= body.value;
		// The line with the delimiter.
		while (this.#at < outerEnd && this.#next() !== '\n');
	}

	/** Place of the line that ends a here-document; the end of everything if there is none. */
	#findDelimiter(delimiter: string, stripsTabs: boolean): number {
		for (let start = this.#at; start < this.#end; ) {
			const found = this.#tokens.indexOf('\n', start);
			const end = found < 0 ? this.#end : found;
			const line = this.#tokens.slice(start, end);
			const text = line.map(token => (typeof token === 'string' ? token : VALUE_MARK)).join('');
			if ((stripsTabs ? text.replace(/^\t+/, '') : text) === delimiter) return start;
			start = end + 1;
		}
		return this.#end;
	}

	#readParenthesis(frame: Frame): void {
		if (frame.command.word === undefined && this.#peek() === '(') return this.#readCalculation(frame, 1);
		this.#endWord(frame);
		this.#takeValue(frame, this.#readCommands(true));
	}

	/** Output of commands within this one is as good as a value in it. */
	#takeValue(frame: Frame, {value}: Frame): void {
		if (value === undefined) return;
		const {command} = frame;
		refuseCode(value, findCodePlace(command.words, command.word ?? ''));
		command.hasValue = true;
		frame.value ??= value;
	}

	#endWord(frame: Frame): void {
		const {command} = frame;
		const {word} = command;
		if (word === undefined) return;
		command.word = undefined;
		const {isTarget} = command;
		command.isTarget = false;
		if (isTarget) return;
		command.words.push(word);
		if (word === 'case' && isNamePlace(command.words)) frame.openCases++;
		if (word === 'esac' && isNamePlace(command.words) && frame.openCases > 0) frame.openCases--;
	}

	#endCommand(frame: Frame): void {
		this.#finishCommand(frame);
		frame.command = newCommand(false);
	}

	/** The next command reads what this one writes. */
	#endPiped(frame: Frame): void {
		const {words, hasValue, isFedValues} = this.#finishCommand(frame);
		const isOr = this.#peek() === '|';
		if (isOr || this.#peek() === '&') this.#next();
		const ofCompound = COMPOUND_ENDS.has(words[0] ?? '') && frame.value !== undefined;
		frame.command = newCommand(!isOr && (hasValue || isFedValues || ofCompound));
	}

	#finishCommand(frame: Frame): Command {
		this.#endWord(frame);
		const {command} = frame;
		if (command.isFedValues && readsProgram(command.words)) refuseCode(frame.value ?? '', 'the program of a shell');
		return command;
	}

	/** Puts a reference to the value into the line. */
	#insert(frame: Frame, part: ValuePart, refer: (variable: string) => string): void {
		const {command} = frame;
		const {name, isRaw} = part;
		if (isRaw) this.#pieces.push(part);
		else {
			if (!command.isTarget) refuseCode(name, findCodePlace(command.words, command.word ?? ''));
			const variable = this.variables.get(name) ?? `${VARIABLE_PREFIX}${this.variables.size + 1}`;
			this.variables.set(name, variable);
			this.#pieces.push(refer(variable));
			command.hasValue = true;
			frame.value ??= name;
		}
		addText(command, VALUE_MARK);
	}

	#peek(ahead = 0): Token | undefined {
		return this.#at + ahead < this.#end ? this.#tokens[this.#at + ahead] : undefined;
	}

	/** Takes a character into the line; with `where` a value in its place is refused. */
	#next(where?: string): Token | undefined {
		const token = this.#peek();
		if (token === undefined) return undefined;
		this.#at++;
		if (typeof token === 'string') this.#pieces.push(token);
		else if (where !== undefined) {
			if (!token.isRaw) throw new JobInputError(`{${token.name}} cannot stand ${where}`);
			this.#pieces.push(token);
		}
		return token;
	}
}

function requireFewValues(parts: readonly TemplatePart[]): void {
	const count = parts.filter(({kind}) => kind === 'value').length;
	if (count > MAX_VALUES)
		throw new JobInputError(`the command has ${count} values, and at most ${MAX_VALUES} are allowed`);
}

function newFrame(): Frame {
	return {command: newCommand(false), openCases: 0, value: undefined};
}

function newCommand(isFedValues: boolean): Command {
	return {words: [], word: undefined, isTarget: false, hasValue: false, isFedValues};
}

function addText(command: Command, text: string): void {
	command.word = (command.word ?? '') + text;
}

function refuseCode(name: string, place: string | undefined): void {
	if (place === undefined) return;
	throw new JobInputError(
		`{${name}} stands in ${place}, where its value would be run: make it an argument of its own, or write {${name}!raw} if it is code`,
	);
}
