import type {Command, Help, HelpConfiguration} from 'commander';
import {wrapped} from './help-text.js';

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
