import {Argument, Command, Option} from 'commander';
import {VERSION} from '../shared/version.js';
import type {CommandDefinition, GroupDefinition, Invocation, OptionValues} from './command-definition.js';
import {COMMANDS, FIRST_EXAMPLES, GROUPS, SECTIONS} from './commands/command-list.js';
import {HELP_LAYOUT, helpWidth, textBelowOptions, textOfExamples} from './help.js';

const LAST_SECTION = `${SECTIONS.at(-1)!.title}:`;

type Execute = (definition: CommandDefinition, invocation: Invocation) => Promise<void>;

/** The command line of the command that is meant, from its definition; that of all of them when none is known by that name. */
export function createProgram(meant: string | undefined, execute: Execute): Command {
	const program = quiet(new Command('longarm'))
		.description('Processes, files and HTTP of another machine as if they were local.')
		.version(VERSION, '-V, --version', 'print the version')
		.usage('COMMAND [options]')
		.enablePositionalOptions()
		.addHelpText('after', () => `\n${textOfExamples(FIRST_EXAMPLES, helpWidth()).join('\n')}`);
	const definitions = commandsCalled(meant);
	const groups = new Map(
		groupsOf(definitions).map(group => [group.name, quiet(new Command(group.name)).description(group.summary)]),
	);
	for (const definition of definitions) {
		const [name, inner] = definition.name.split(' ') as [string, string?];
		const parent = inner === undefined ? program : groups.get(name)!;
		addCommand(parent, inner ?? name, definition, execute);
	}
	for (const group of groups.values()) program.addCommand(group.helpCommand(false).usage('COMMAND [options]'));
	inSections(program);
	return program;
}

function commandsCalled(meant: string | undefined): readonly CommandDefinition[] {
	const known = COMMANDS.filter(({name}) => name.split(' ', 1)[0] === meant);
	return known.length > 0 ? known : COMMANDS;
}

function groupsOf(definitions: readonly CommandDefinition[]): readonly GroupDefinition[] {
	return GROUPS.filter(group => definitions.some(({name}) => name.startsWith(`${group.name} `)));
}

/** Puts the commands in the order of their sections. */
function inSections(program: Command): void {
	program.addHelpCommand(new Command('help').description('show the help of a command').helpGroup(LAST_SECTION));
	for (const command of program.commands) command.helpGroup(`${SECTIONS[placeOf(command)]?.title}:`);
	(program.commands as Command[]).sort((one, other) => placeOf(one) - placeOf(other));
}

function placeOf(command: Command): number {
	return SECTIONS.findIndex(({names}) => names.includes(command.name()));
}

function addCommand(parent: Command, name: string, definition: CommandDefinition, execute: Execute): void {
	const command = quiet(parent.command(name))
		.description(definition.summary)
		.addHelpText('after', () => `\n${textBelowOptions(definition, helpWidth())}`);
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
		await execute(definition, {
			arguments: command.processedArgs as Invocation['arguments'],
			options: optionsOf(command),
		});
	});
}

function optionsOf(command: Command): OptionValues {
	return command.opts();
}

/** Errors are ours to tell. */
function quiet(command: Command): Command {
	return command
		.helpOption('-h, --help', 'show this help')
		.configureHelp(HELP_LAYOUT)
		.exitOverride()
		.configureOutput({writeOut: writeHelp, writeErr: () => {}, getOutHelpWidth: helpWidth})
		.showHelpAfterError(false);
}

/** Whoever reads may have left, `| head` say. */
function writeHelp(text: string): void {
	process.stdout.on('error', () => {});
	process.stdout.write(text);
}
