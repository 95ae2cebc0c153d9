import type {Command, Help, HelpConfiguration} from 'commander';
import type {CommandDefinition, Example} from './command-definition.js';

/** Width of the column of examples; the explanation of a longer one is on the next line. */
const MAX_EXAMPLE_WIDTH = 48;
/** Longer lines are hard to read, however wide the terminal is. */
const MAX_WIDTH = 100;
const DEFAULT_WIDTH = 80;
/** Width of the column of terms; a longer term has a line of its own. */
const COLUMN = 26;
const INDENT = '  ';
const GAP = '  ';

/** Help text below the options: details, exit codes, examples. */
export function formatBelowOptions({details = [], exitCodes, examples}: CommandDefinition, width: number): string {
	const success = exitCodes.some(([code]) => code === '0') ? [] : [['0', 'success'] as const];
	const codes = [...success, ...exitCodes].map(([code, meaning]) => wrapText(meaning, width, `  ${code.padEnd(7)} `));
	return [
		...details.flatMap(paragraph => [...wrapText(paragraph, width), '']),
		'Exit codes:',
		...codes.flat(),
		'',
		...formatExamples(examples, width),
	].join('\n');
}

export function formatExamples(examples: readonly Example[], width: number): string[] {
	return ['Examples:', ...examples.flatMap(example => formatExample(example, width))];
}

/** A command is never broken: it is there to be copied. */
function formatExample({command, says}: Example, width: number): string[] {
	if (says === undefined) return [`  ${command}`];
	const beside = `  ${command.padEnd(MAX_EXAMPLE_WIDTH)} ${says}`;
	return command.length <= MAX_EXAMPLE_WIDTH && beside.length <= width ? [beside] : [`  ${command}`, `      ${says}`];
}

/** Wraps a text; lines after the first are indented by the length of the head. */
export function wrapText(text: string, width: number, head = ''): string[] {
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

/** Width of help, in columns. */
export function helpWidth(): number {
	return Math.min(process.stdout.columns || DEFAULT_WIDTH, MAX_WIDTH);
}

/** Layout of the lists of options, arguments and commands. */
export const HELP_LAYOUT: HelpConfiguration = {
	subcommandTerm: (command: Command) => command.name(),

	padWidth: (command: Command, helper: Help) =>
		Math.min(COLUMN, Math.max(...collectTerms(command, helper).map(term => term.length))),

	formatItem: (term: string, termWidth: number, description: string, helper: Help) => {
		const width = helper.helpWidth ?? DEFAULT_WIDTH;
		const column = INDENT + ' '.repeat(termWidth) + GAP;
		if (description === '') return INDENT + term;
		if (term.length <= termWidth) return wrapText(description, width, INDENT + term.padEnd(termWidth) + GAP).join('\n');
		return [INDENT + term, ...wrapText(description, width, column)].join('\n');
	},
};

function collectTerms(command: Command, helper: Help): string[] {
	return [
		...helper.visibleOptions(command).map(option => helper.optionTerm(option)),
		...helper.visibleArguments(command).map(argument => helper.argumentTerm(argument)),
		...helper.visibleCommands(command).map(each => helper.subcommandTerm(each)),
	];
}
