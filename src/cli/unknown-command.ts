import {findClosestName} from '../shared/closest-name.js';
import {COMMANDS, GROUPS} from './commands/command-list.js';

/** Every name that stands for a command or a group, with spaces in it where it is one below another. */
const NAMES: readonly string[] = [
	...COMMANDS.flatMap(({name, aliases = []}) => [name, ...aliases]),
	...GROUPS.map(({name}) => name),
];
const HELP_FLAGS = ['-h', '--help'];

/**
 * Describes the name of a command that does not exist; undefined for any other command line. Commander shows the help of the
 * command above it where help is asked for.
 */
export function describeUnknownCommand(words: readonly string[], isHelpAskedByName: boolean): string | undefined {
	const end = words.findIndex(word => word.startsWith('-'));
	const named = end === -1 ? words : words.slice(0, end);
	const depth = countKnown(named);
	const next = named[depth];
	if (next === undefined) return undefined;
	const above = named.slice(0, depth).join(' ');
	const given = named.slice(0, depth + 1).join(' ');
	const closest = findClosestName(given, NAMES);
	const asksHelp = isHelpAskedByName || words.slice(depth + 1).some(word => HELP_FLAGS.includes(word));
	const isName = isGroup(above) || isHelpAskedByName || (takesNothing(above) && (asksHelp || closest !== undefined));
	if (!isName) return undefined;
	return `error: unknown command '${given}'${closest === undefined ? '' : ` (Did you mean ${closest}?)`}`;
}

/** How many of the first words are the name of a command or group. */
function countKnown(words: readonly string[]): number {
	let count = 0;
	while (count < words.length && NAMES.includes(words.slice(0, count + 1).join(' '))) count++;
	return count;
}

/** The program itself is one, too. */
function isGroup(name: string): boolean {
	return name === '' || GROUPS.some(group => group.name === name);
}

function takesNothing(name: string): boolean {
	return COMMANDS.some(({name: each, arguments: taken = []}) => each === name && taken.length === 0);
}
