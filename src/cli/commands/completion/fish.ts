import type {Completion} from '../../command-definition.js';
import {
	type Completed,
	type CompletedCommand,
	type CompletedOption,
	findFollowing,
	findParents,
} from './completed-command.js';

/** A script for fish: a file in ~/.config/fish/completions, or read by source. */
export function fishScript(completed: Completed): string {
	return [
		HEAD,
		...findParents(completed).flatMap(words => completeNames(completed, words)),
		...completed.commands.flatMap(describeCommand),
		'',
	].join('\n');
}

function completeNames(completed: Completed, words: readonly string[]): string[] {
	const condition = quote(['__longarm_wants_name', ...words].join(' '));
	return findFollowing(completed, words).map(
		({name, summary}) => `complete -c longarm -n ${condition} -a ${name} -d ${quote(summary)}`,
	);
}

function describeCommand(command: CompletedCommand): string[] {
	const condition = quote(['__longarm_at', ...command.words].join(' '));
	const values = command.arguments.map(({completes}) =>
		toOffer(completes ?? (command.passesThrough ? {kind: 'file'} : undefined)),
	);
	return [
		...command.options.map(option => `complete -c longarm -n ${condition} ${toOptionWords(option)}`),
		...[...new Set(values)].filter(value => value !== '').map(value => `complete -c longarm -n ${condition} ${value}`),
	];
}

function toOptionWords({short, long, value, help, completes}: CompletedOption): string {
	const takes = value === undefined ? [] : ['-r', toOffer(completes)];
	const flags = [...(short === undefined ? [] : [`-s ${short.slice(1)}`]), `-l ${long.slice(2)}`];
	return [...flags, ...takes.filter(Boolean), `-d ${quote(help)}`].join(' ');
}

function toOffer(completes: Completion | undefined): string {
	switch (completes?.kind) {
		case undefined:
			return '';
		case 'words':
			return `-f -a ${quote(completes.words.join(' '))}`;
		case 'environment':
			return "-f -a '(longarm completion names 2>/dev/null)'";
		case 'address':
			return "-F -a '(__longarm_addresses)'";
		case 'process':
			return "-f -a '(__longarm_processes)'";
		case 'file':
			return '-F';
		case 'directory':
			return "-f -a '(__fish_complete_directories)'";
		case 'command':
			return "-F -a '(__fish_complete_command)'";
	}
}

/** Within single quotes fish knows two escapes. */
function quote(text: string): string {
	return `'${text.replaceAll(/[\\']/g, String.raw`\$&`)}'`;
}

const HEAD = `# Completion of longarm for fish, made by: longarm completion fish

# Words of the line that are no options; the names of commands come first.
function __longarm_words
	for word in (commandline -opc)[2..]
		string match -qv -- '-*' $word; and echo -- $word
	end
end

# Names of environments, and behind a colon paths of that machine.
function __longarm_addresses
	set -l word (commandline -ct)
	if string match -q -- '*:*' $word
		LONGARM_WORD=$word longarm completion paths 2>/dev/null
	else
		longarm completion names 2>/dev/null | string replace -r '$' :
	end
end

# Ids and names of processes where the line says, or of the default environment.
function __longarm_processes
	set -l at
	set -l is_next
	for word in (commandline -opc)
		if test -n "$is_next"
			set at $word
			set is_next
		else if contains -- $word -e --environment
			set is_next yes
		else if string match -q -- '--environment=*' $word
			set at (string replace -- --environment= '' $word)
		end
	end
	LONGARM_WORD=(commandline -ct) LONGARM_AT="$at" longarm completion processes 2>/dev/null
end

function __longarm_at
	set -l words (__longarm_words)
	test (count $words) -ge (count $argv); and test "$words[1..$(count $argv)]" = "$argv"
end

function __longarm_wants_name
	set -l words (__longarm_words)
	test (count $words) -eq (count $argv); and test "$words" = "$argv"
end

complete -c longarm -f`;
