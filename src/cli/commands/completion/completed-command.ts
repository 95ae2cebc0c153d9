import type {CommandDefinition, Completion, GroupDefinition} from '../../command-definition.js';

export interface CompletedOption {
	/** `-e`; undefined where there is none. */
	readonly short: string | undefined;
	/** `--environment`. */
	readonly long: string;
	/** Placeholder of the value; undefined for a switch. */
	readonly value: string | undefined;
	readonly help: string;
	readonly isRepeated: boolean;
	readonly completes: Completion | undefined;
}

export interface CompletedArgument {
	readonly name: string;
	readonly isRepeated: boolean;
	readonly completes: Completion | undefined;
}

/** A command as completion scripts need it. */
export interface CompletedCommand {
	/** `['env', 'add']`. */
	readonly words: readonly string[];
	readonly summary: string;
	readonly options: readonly CompletedOption[];
	readonly arguments: readonly CompletedArgument[];
	readonly passesThrough: boolean;
}

/** Commands and groups of a program, as the scripts for shells are made of them. */
export interface Completed {
	readonly groups: readonly GroupDefinition[];
	readonly commands: readonly CompletedCommand[];
}

const HELP: CompletedOption = {
	short: '-h',
	long: '--help',
	value: undefined,
	help: 'show this help',
	isRepeated: false,
	completes: undefined,
};

export function toCompleted(commands: readonly CommandDefinition[], groups: readonly GroupDefinition[]): Completed {
	return {groups, commands: commands.flatMap(withAliases).map(toCommand)};
}

/** Words that others can follow: none, those of a group, and those of a command with commands below it. */
export function findParents({groups, commands}: Completed): (readonly string[])[] {
	const isParent = ({words}: CompletedCommand): boolean =>
		commands.some(({words: longer}) => longer.length > words.length && words.every((word, at) => word === longer[at]));
	return [[], ...groups.map(({name}) => name.split(' ')), ...commands.filter(isParent).map(({words}) => words)];
}

/** Commands and groups that can follow these words of a command line. */
export function findFollowing(
	{groups, commands}: Completed,
	words: readonly string[],
): {name: string; summary: string}[] {
	const isBelow = (path: readonly string[]): boolean =>
		path.length === words.length + 1 && words.every((word, at) => word === path[at]);
	const below = [
		...commands.filter(command => isBelow(command.words)).map(command => ({name: command.words.at(-1)!, ...command})),
		...groups
			.filter(({name}) => isBelow(name.split(' ')))
			.map(({name, summary}) => ({name: name.split(' ').at(-1)!, summary})),
	];
	return below.map(({name, summary}) => ({name, summary}));
}

function withAliases(command: CommandDefinition): CommandDefinition[] {
	return [command, ...(command.aliases ?? []).map(name => ({...command, name}))];
}

function toCommand(definition: CommandDefinition): CompletedCommand {
	return {
		words: definition.name.split(' '),
		summary: definition.summary,
		options: [...(definition.options ?? []).map(toOption), HELP],
		arguments: (definition.arguments ?? []).map(({name, isRepeated = false, completes}) => ({
			name,
			isRepeated,
			completes,
		})),
		passesThrough: definition.passesThrough === true,
	};
}

function toOption({
	flags,
	help,
	isRepeated = false,
	completes,
}: {
	flags: string;
	help: string;
	isRepeated?: boolean;
	completes?: Completion;
}): CompletedOption {
	const [, short, long, value] = /^(?:(-\w), )?(--[\w-]+)(?: [<[](.+)[>\]])?$/.exec(flags) ?? [];
	if (long === undefined) throw new Error(`flags that cannot be completed: ${flags}`);
	return {short, long, value, help, isRepeated, completes};
}
