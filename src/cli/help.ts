import type {Command, Help, HelpConfiguration} from 'commander';
import type {CommandDefinition, Example} from './command-definition.js';

/** An example this long has its explanation on a line of its own. */
const MAX_EXAMPLE_WIDTH = 48;

/** What help says below the options: details, exit codes, examples. */
export function textBelowOptions({details = [], exitCodes, examples}: CommandDefinition, width: number): string {
	const success = exitCodes.some(([code]) => code === '0') ? [] : [['0', 'success'] as const];
	const codes = [...success, ...exitCodes].map(([code, meaning]) => wrapped(meaning, width, `  ${code.padEnd(7)} `));
	return [
		...details.flatMap(paragraph => [...wrapped(paragraph, width), '']),
		'Exit codes:',
		...codes.flat(),
		'',
		...textOfExamples(examples, width),
	].join('\n');
}

export function textOfExamples(examples: readonly Example[], width: number): string[] {
	return ['Examples:', ...examples.flatMap(example => shown(example, width))];
}

/** A command is never broken: it is there to be copied. */
function shown({command, says}: Example, width: number): string[] {
	if (says === undefined) return [`  ${command}`];
	const beside = `  ${command.padEnd(MAX_EXAMPLE_WIDTH)} ${says}`;
	return command.length <= MAX_EXAMPLE_WIDTH && beside.length <= width ? [beside] : [`  ${command}`, `      ${says}`];
}

/** Lines of a text, those after the first as far in as it stands behind its head. */
export function wrapped(text: string, width: number, head = ''): string[] {
	const lines = [head];
	const indent = ' '.repeat(head.length);
	for (const word of text.split(' ')) {
		const line = lines.at(-1)!;
		const isFresh = line === head || line === indent;
		if (isFresh) lines[lines.length - 1] = line + word;
		else if (line.length + 1 + word.length > width) lines.push(indent + word);
		else lines[lines.length - 1] = `${line} ${word}`;
	}
	return lines;
}

/** Longer lines are hard to read, however wide the terminal is. */
const WIDEST = 100;
const USUAL = 80;
/** What is described stands in a column of at most so many characters; what is longer has a line of its own. */
const COLUMN = 26;
const INDENT = '  ';
const GAP = '  ';

/** Columns that help may fill. */
export function helpWidth(): number {
	return Math.min(process.stdout.columns || USUAL, WIDEST);
}

/** How lists of options, arguments and commands look. */
export const HELP_LAYOUT: HelpConfiguration = {
	subcommandTerm: (command: Command) => command.name(),

	padWidth: (command: Command, helper: Help) =>
		Math.min(COLUMN, Math.max(...termsOf(command, helper).map(term => term.length))),

	formatItem: (term: string, termWidth: number, description: string, helper: Help) => {
		const width = helper.helpWidth ?? USUAL;
		const column = INDENT + ' '.repeat(termWidth) + GAP;
		if (description === '') return INDENT + term;
		if (term.length <= termWidth) return wrapped(description, width, INDENT + term.padEnd(termWidth) + GAP).join('\n');
		return [INDENT + term, ...wrapped(description, width, column)].join('\n');
	},
};

function termsOf(command: Command, helper: Help): string[] {
	return [
		...helper.visibleOptions(command).map(option => helper.optionTerm(option)),
		...helper.visibleArguments(command).map(argument => helper.argumentTerm(argument)),
		...helper.visibleCommands(command).map(each => helper.subcommandTerm(each)),
	];
}
