import {Argument, Command, Option} from 'commander';
import {VERSION} from '../server/version.js';
import type {CommandDefinition, Invocation, OptionValues} from './definitions/definition.js';
import {COMMANDS, GROUPS} from './definitions/index.js';
import {textBelowOptions} from './help-text.js';

type Execute = (definition: CommandDefinition, invocation: Invocation) => Promise<void>;

/** The command line of every command, from its definition. */
export function createProgram(execute: Execute): Command {
	const program = quiet(new Command('longarm'))
		.description('Processes, files and HTTP of another machine as if they were local.')
		.version(VERSION, '-V, --version', 'print the version')
		.enablePositionalOptions();
	const groups = new Map(GROUPS.map(group => [group.name, addGroup(program, group.name, group.summary)]));
	for (const definition of COMMANDS) {
		const [name, inner] = definition.name.split(' ') as [string, string?];
		const parent = inner === undefined ? program : groups.get(name)!;
		addCommand(parent, inner ?? name, definition, execute);
	}
	return program;
}

function addGroup(program: Command, name: string, summary: string): Command {
	return quiet(program.command(name)).description(summary);
}

function addCommand(parent: Command, name: string, definition: CommandDefinition, execute: Execute): void {
	const command = quiet(parent.command(name))
		.description(definition.summary)
		.addHelpText('after', () => `\n${textBelowOptions(definition)}`);
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
		.exitOverride()
		.configureOutput({writeErr: () => {}})
		.showHelpAfterError(false);
}
