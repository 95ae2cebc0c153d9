import type {Completion} from '../../command-definition.js';
import {
	type Completed,
	type CompletedArgument,
	type CompletedCommand,
	type CompletedOption,
	findFollowing,
	findParents,
} from './completed-command.js';

const TAIL = `if [ "$funcstack[1]" = "_longarm" ]; then
	_longarm "$@"
else
	compdef _longarm longarm
fi
`;

/** A script for zsh: a file `_longarm` in $fpath, or read by eval. */
export function zshScript(completed: Completed): string {
	const parents = findParents(completed);
	const names = new Set(parents.map(functionOf));
	return [
		HEAD,
		...completed.commands.filter(({words}) => !names.has(functionOf(words))).map(commandFunction),
		...parents.toReversed().map(words => dispatcher(completed, words)),
		TAIL,
	].join('\n');
}

function functionOf(words: readonly string[]): string {
	return ['_longarm', ...words].join('_').replaceAll('-', '_');
}

function commandFunction(command: CompletedCommand): string {
	const specs = [
		...command.options.map(optionSpec),
		...command.arguments.map((_argument, at) => argumentSpec(command, at)),
	];
	return [
		`${functionOf(command.words)}() {`,
		'\t_arguments -s -S \\',
		specs.map(spec => `\t\t${spec}`).join(' \\\n'),
		'}',
		'',
	].join('\n');
}

/** Offers what can follow these words, or completes what does. */
function dispatcher(completed: Completed, words: readonly string[]): string {
	const names = findFollowing(completed, words);
	const itself = completed.commands.find(command => functionOf(command.words) === functionOf(words));
	const options = itself?.options.map(optionSpec) ?? [`'(- *)'{-h,--help}'[show this help]'`];
	return [
		`${functionOf(words)}() {`,
		'\tlocal context state state_descr line',
		'\ttypeset -A opt_args',
		'\tlocal -a names',
		`\tnames=(${names.map(({name, summary}) => quote(`${name}:${summary}`)).join(' ')})`,
		`\t_arguments -C ${options.join(' ')} '1: :->name' '*:: :->rest'`,
		'\tcase $state in',
		`\tname) _describe -t commands 'command' names ;;`,
		'\trest)',
		'\t\tcase $line[1] in',
		...names.map(({name}) => `\t\t${name}) ${functionOf([...words, name])} ;;`),
		'\t\tesac',
		'\t\t;;',
		'\tesac',
		'}',
		'',
	].join('\n');
}

function optionSpec({short, long, value, help, isRepeated, completes}: CompletedOption): string {
	const repeat = isRepeated ? "'*'" : short === undefined ? '' : quote(`(${short} ${long})`);
	const takes = value !== undefined;
	const names =
		short === undefined ? `${long}${takes ? '=' : ''}` : `{${short}${takes ? '+' : ''},${long}${takes ? '=' : ''}}`;
	const action = takes ? `:${escape(value)}:${actionOf(completes)}` : '';
	return `${repeat}${names}${quote(`[${escape(help)}]${action}`)}`;
}

function argumentSpec({arguments: all, passesThrough}: CompletedCommand, at: number): string {
	const {name, isRepeated, completes} = all[at] as CompletedArgument;
	const action = completes ?? (passesThrough ? ({kind: 'file'} as const) : undefined);
	if (completes?.kind === 'command' && isRepeated) return quote(`*::${escape(name)}:_normal`);
	return quote(`${isRepeated ? '*' : at + 1}:${escape(name)}:${actionOf(action)}`);
}

function actionOf(completes: Completion | undefined): string {
	switch (completes?.kind) {
		case undefined:
			return ' ';
		case 'words':
			return `(${completes.words.map(escape).join(' ')})`;
		case 'environment':
			return '_longarm_names';
		case 'address':
			return '_longarm_addresses';
		case 'process':
			return '_longarm_processes';
		case 'file':
			return '_files';
		case 'directory':
			return '_files -/';
		case 'command':
			return '_command_names -e';
	}
}

/** Colons and brackets mean something to _arguments. */
function escape(text: string): string {
	return text.replaceAll(/[\\:[\]]/g, String.raw`\$&`);
}

function quote(text: string): string {
	return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

const HEAD = `#compdef longarm
# Completion of longarm for zsh, made by: longarm completion zsh

_longarm_names() {
	local -a names
	names=(\${(f)"$(longarm completion names 2>/dev/null)"})
	compadd "$@" -a names
}

# Ids and names of processes where the line says, or of the default environment.
_longarm_processes() {
	local -a processes
	local at="\${opt_args[-e]:-\${opt_args[--environment]}}"
	processes=(\${(f)"$(LONGARM_WORD="\${(Q)PREFIX}" LONGARM_AT="$at" longarm completion processes 2>/dev/null)"})
	compadd "$@" -a processes
}

_longarm_addresses() {
	# What is behind the colon is on the other machine.
	if compset -P '*:'; then
		local -a paths
		paths=(\${(f)"$(LONGARM_WORD="$IPREFIX\${(Q)PREFIX}" longarm completion paths 2>/dev/null)"})
		paths=("\${(@)paths#$IPREFIX}")
		if [[ -n $paths ]]; then compadd "$@" -S '' -a paths; else _message 'path on that machine'; fi
	else
		_longarm_names -S :
		_files
	fi
}
`;
