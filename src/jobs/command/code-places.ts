/** Stands for a value in the text of a word. */
export const VALUE_MARK = '\0';
/** Stands in the text of a word for what the shell expands. */
export const EXPANSION_MARK = '$';

/** A program that takes code from its arguments, or from its input. */
interface Interpreter {
	/** Options whose next operand is code. */
	readonly code?: RegExp;
	/** Such an option counts behind operands, too. */
	readonly isAnywhere?: boolean;
	/** Operands in front of those that are code; undefined if no operand is. */
	readonly operandsBeforeCode?: number;
	/** Options that have an argument of their own. */
	readonly withArgument?: RegExp;
	/** Without an operand its program is what it reads. */
	readonly readsProgram?: boolean;
}

const SHELL: Interpreter = {code: /^[-+][A-Za-z]*c[A-Za-z]*$/, withArgument: /^[-+][A-Za-z]*o$/, readsProgram: true};
const FILTER: Interpreter = {
	code: /^(?:-[A-Za-z]*e|--expression|--source)$/,
	operandsBeforeCode: 0,
	withArgument: /^-[vFf]$/,
};
const WITH_COMMAND: Interpreter = {code: /^(?:-[A-Za-z]*c|--command|--session-command)$/, isAnywhere: true};

const POSIX_SHELLS = new Set(['sh', 'bash', 'dash', 'ash', 'ksh', 'mksh', 'yash', 'zsh']);
const INTERPRETERS: Readonly<Record<string, Interpreter>> = {
	...asKeys([...POSIX_SHELLS, 'rbash', 'fish', 'csh', 'tcsh'], SHELL),
	...asKeys(['su', 'runuser', 'script', 'flock', 'psql'], WITH_COMMAND),
	...asKeys(['awk', 'gawk', 'mawk', 'nawk', 'sed', 'gsed', 'jq'], FILTER),
	...asKeys(['perl', 'ruby', 'lua'], {code: /^-[A-Za-z0-9]*[eE]$/, readsProgram: true}),
	...asKeys(['node', 'nodejs', 'bun', 'deno'], {code: /^(?:-[A-Za-z]*[ep]|--eval|--print|eval)$/, readsProgram: true}),
	python: {code: /^-[A-Za-z]*c$/, readsProgram: true},
	php: {code: /^-[BREr]$/, readsProgram: true},
	// Operands behind the destination are a line for the shell there.
	ssh: {code: /^-o$/, operandsBeforeCode: 1, withArgument: /^-[A-Za-z]*[BbcDEeFIiJLlmOPpQRSWw]$/, readsProgram: true},
	watch: {operandsBeforeCode: 0, withArgument: /^-[ns]$/},
};

/** Words of a command in front of a value, so that commands of clients are read in little time. */
const MAX_WORDS_BEFORE_VALUE = 1024;
/** Interpreters that are looked for among them. */
const MAX_INTERPRETERS = 4;
/** Words of a shell in front of its script. */
const MAX_WORDS_BEFORE_SCRIPT = 64;

/** Builtins that read their arguments as code or expressions. */
const EVALUATING = new Set(['eval', 'let', 'trap', 'alias', '[[']);
/** Builtins whose arguments are names of variables, or assignments; a name can have an expression in it. */
const DECLARING = new Set(['export', 'readonly', 'local', 'declare', 'typeset', 'unset', 'read', 'getopts', 'mapfile']);
/** Builtins for which the word behind `-v` is the name of a variable. */
const WITH_VARIABLE = new Set(['test', '[', 'printf', 'wait']);
/** Words in front of the name of a command. */
const BEFORE_NAME = new Set([
	'if',
	'then',
	'else',
	'elif',
	'while',
	'until',
	'do',
	'{',
	'!',
	'time',
	'command',
	'builtin',
]);
const ASSIGNMENT = /^[A-Za-z_]\w*\+?=/;
const SUBSCRIPT = /^[A-Za-z_]\w*\[/;

/**
 * Says why a value must not stand in an argument, because the program takes that as code; undefined if it may. `words` are those in
 * front of it, without their quotes, and `begun` is its own text so far. Only what is known to run code is found.
 */
export function findCodePlace(words: readonly string[], begun: string): string | undefined {
	if (words.length > MAX_WORDS_BEFORE_VALUE) return `a command of more than ${MAX_WORDS_BEFORE_VALUE} words`;
	const at = indexOfName(words);
	const name = words[at];
	if (name === undefined) return SUBSCRIPT.test(begun) ? 'the subscript of a variable' : undefined;
	if (EVALUATING.has(name)) return `an argument of ${name}`;
	if (DECLARING.has(name) && !ASSIGNMENT.test(begun)) return `the name of a variable of ${name}`;
	if (WITH_VARIABLE.has(name) && words.at(-1) === '-v') return `the name of a variable of ${name}`;
	let found = 0;
	for (const [index, word] of words.entries()) {
		const interpreter = interpreterOf(word, index === at);
		if (!interpreter || ++found > MAX_INTERPRETERS) continue;
		if (!isCode(interpreter, words.slice(index + 1), begun)) continue;
		return index === at && isUnknown(word) ? 'the code for a program' : `the code for ${word}`;
	}
	return undefined;
}

/** Number of the word that a shell, the first one, reads as its script; undefined without one. */
export function indexOfScript(words: readonly string[]): number | undefined {
	if (words[0] === undefined || !POSIX_SHELLS.has(words[0].slice(words[0].lastIndexOf('/') + 1))) return undefined;
	const first = words.slice(0, MAX_WORDS_BEFORE_SCRIPT);
	const index = first.findIndex((_, at) => at > 0 && sortWords(SHELL, words.slice(1, at + 1)).hasCode);
	return index < 0 ? undefined : index;
}

/** Whether a command takes its program from standard input. */
export function readsProgram(words: readonly string[]): boolean {
	return words.some((word, index) => {
		const interpreter = interpreterOf(word, false);
		if (!interpreter?.readsProgram) return false;
		const {operandsBeforeCode = 0} = interpreter;
		const {operands, isNextCode, hasCode} = sortWords(interpreter, words.slice(index + 1));
		if (hasCode || isNextCode) return false;
		const [first] = operands.slice(operandsBeforeCode);
		return first === undefined || first === '-' || first === '/dev/stdin' || words.includes('-s', index);
	});
}

/** Whether the last word is the name of a command. */
export function isNamePlace(words: readonly string[]): boolean {
	return indexOfName(words) === words.length - 1;
}

/** Place of the name of a command among its words; -1 if it is not among them. */
function indexOfName(words: readonly string[]): number {
	const isAfterPrefix = (index: number): boolean => index > 0 && BEFORE_NAME.has(words[index - 1]!);
	return words.findIndex(
		(word, index) =>
			!ASSIGNMENT.test(word) && !BEFORE_NAME.has(word) && !(word.startsWith('-') && isAfterPrefix(index)),
	);
}

function interpreterOf(word: string, isName: boolean): Interpreter | undefined {
	if (isName && isUnknown(word)) return SHELL;
	const base = word.slice(word.lastIndexOf('/') + 1);
	const name = Object.hasOwn(INTERPRETERS, base) ? base : base.replace(/-?[\d.]+$/, '');
	return Object.hasOwn(INTERPRETERS, name) ? INTERPRETERS[name] : undefined;
}

/** A program that is a value, or comes from a variable, may be a shell. */
function isUnknown(word: string): boolean {
	return word.includes(VALUE_MARK) || word.includes(EXPANSION_MARK);
}

function isCode(interpreter: Interpreter, words: readonly string[], begun: string): boolean {
	const {operands, isNextCode, isNextArgument, hasCode} = sortWords(interpreter, words);
	if (isNextCode) return true;
	if (isNextArgument) return false;
	const {operandsBeforeCode, code} = interpreter;
	// `-e'print {name}'`: the code may be in the same word as its option.
	if (code && begun.startsWith('-') && !begun.startsWith('--') && operands.length === 0) return true;
	const isFree = operandsBeforeCode === undefined || hasCode;
	// Of a shell at the other end everything behind the destination, of a filter its first operand.
	return !isFree && (operandsBeforeCode > 0 ? operands.length >= operandsBeforeCode : operands.length === 0);
}

function sortWords({code, isAnywhere, withArgument}: Interpreter, words: readonly string[]) {
	const operands: string[] = [];
	let isNextCode = false;
	let isNextArgument = false;
	let hasCode = false;
	for (const word of words) {
		const isOption = /^[-+]./.test(word) && word !== '--';
		if (isNextArgument) isNextArgument = false;
		else if (code?.test(word) && (isAnywhere || operands.length === 0)) isNextCode = true;
		else if (withArgument?.test(word) && operands.length === 0) {
			isNextArgument = true;
			hasCode ||= word === '-f';
		} else if (word === '--' || (isOption && operands.length === 0)) continue;
		else if (isNextCode) {
			isNextCode = false;
			hasCode = true;
		} else operands.push(word);
	}
	return {operands, isNextCode, isNextArgument, hasCode};
}

function asKeys(names: readonly string[], interpreter: Interpreter): Record<string, Interpreter> {
	return Object.fromEntries(names.map(name => [name, interpreter]));
}
