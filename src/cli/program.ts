import {Argument, Command, Option} from 'commander';
import {VERSION} from '../shared/version.js';
import type {CommandDefinition, Invocation, OptionValues} from './command-definition.js';
import {COMMANDS, FIRST_EXAMPLES, GROUPS, SECTIONS} from './commands/command-list.js';
import {rememberTrust} from './common/given-trust.js';
import {formatBelowOptions, formatExamples, HELP_LAYOUT, helpWidth} from './help.js';

const VERSION_FLAGS = ['-V', '--version'];
const LAST_SECTION = `${SECTIONS.at(-1)!.title}:`;

type Execute = (definition: CommandDefinition, invocation: Invocation) => Promise<void>;

/** The command line of the command with this first word, from its definition; of all commands when there is none, and of none for the version. */
export function createProgram(first: string | undefined, execute: Execute): Command {
	const program = silenceCommander(new Command('longarm'))
		.description('Processes, files and HTTP of another machine as if they were local.')
		.version(VERSION, VERSION_FLAGS.join(', '), 'print the version')
		.usage('COMMAND [options]')
		.enablePositionalOptions()
		.addHelpText('after', () => `\n${formatExamples(FIRST_EXAMPLES, helpWidth()).join('\n')}`);
	addCommands(program, selectCommands(first), execute);
	sortIntoSections(program);
	return program;
}

function selectCommands(first: string | undefined): readonly CommandDefinition[] {
	if (first !== undefined && VERSION_FLAGS.includes(first)) return [];
	const known = COMMANDS.filter(({name, aliases = []}) => [name.split(' ', 1)[0], ...aliases].includes(first));
	return known.length > 0 ? known : COMMANDS;
}

/** Each below its group, or below another command, as `hub ls` is below `hub`. */
function addCommands(program: Command, definitions: readonly CommandDefinition[], execute: Execute): void {
	const parents = new Map([['', program]]);
	const parentOf = (name: string): Command => {
		const path = name.split(' ').slice(0, -1).join(' ');
		const known = parents.get(path) ?? addGroup(parentOf(path), path);
		parents.set(path, known);
		return known;
	};
	for (const definition of definitions) {
		const command = addCommand(parentOf(definition.name), lastWord(definition.name), definition, execute);
		// Options behind the name of a command below are options of that one.
		parents.set(definition.name, command.helpCommand(false).enablePositionalOptions());
	}
}

function addGroup(parent: Command, path: string): Command {
	const {summary} = GROUPS.find(({name}) => name === path)!;
	const group = silenceCommander(new Command(lastWord(path))).description(summary);
	parent.addCommand(group.helpCommand(false).usage('COMMAND [options]'));
	return group;
}

function lastWord(name: string): string {
	return name.split(' ').at(-1)!;
}

/** Puts the commands in the order of their sections. */
function sortIntoSections(program: Command): void {
	program.addHelpCommand(new Command('help').description('show the help of a command').helpGroup(LAST_SECTION));
	for (const command of program.commands) command.helpGroup(`${SECTIONS[sectionIndex(command)]?.title}:`);
	(program.commands as Command[]).sort((one, other) => sectionIndex(one) - sectionIndex(other));
}

function sectionIndex(command: Command): number {
	return SECTIONS.findIndex(({names}) => names.includes(command.name()));
}

function addCommand(parent: Command, name: string, definition: CommandDefinition, execute: Execute): Command {
	const command = silenceCommander(parent.command(name))
		.description(definition.summary)
		.aliases(definition.aliases ?? [])
		.addHelpText('after', () => `\n${formatBelowOptions(definition, helpWidth())}`);
	if (definition.passesThrough) command.passThroughOptions();
	for (const argument of definition.arguments ?? []) {
		const inside = argument.isRepeated ? `${argument.name}...` : argument.name;
		command.addArgument(new Argument(argument.isOptional ? `[${inside}]` : `<${inside}>`, argument.help));
	}
	for (const {flags, help, isRepeated} of definition.options ?? []) {
		const option = new Option(flags, help);
		if (isRepeated) option.argParser((value: string, earlier: string[] | undefined) => [...(earlier ?? []), value]);
		command.addOption(option);
	}
	command.action(async () => {
		const options = readOptions(command);
		rememberTrust(options);
		await execute(definition, {arguments: command.processedArgs as Invocation['arguments'], options});
	});
	return command;
}

function readOptions(command: Command): OptionValues {
	return command.opts();
}

/** Keeps commander from writing errors: `main.ts` reports them. */
function silenceCommander(command: Command): Command {
	return command
		.helpOption('-h, --help', 'show this help')
		.configureHelp(HELP_LAYOUT)
		.exitOverride()
		.configureOutput({writeOut: writeHelp, writeErr: () => {}, getOutHelpWidth: helpWidth})
		.showHelpAfterError(false);
}

/** Ignores a broken pipe: the reader may have left, `| head` say. */
function writeHelp(text: string): void {
	process.stdout.on('error', () => {});
	process.stdout.write(text);
}
