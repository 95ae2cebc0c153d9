import type {Completion} from '../../command-definition.js';
import {type Completed, type CompletedCommand, findFollowing, findParents} from './completed-command.js';

/** Completion kind: an executable, then file arguments. */
const PROGRAM = 'command';

/** A script for bash 3.2 and later; asks `longarm completion names` for environments. */
export function bashScript(completed: Completed): string {
	const {commands} = completed;
	const parents = findParents(completed);
	return BODY.replace('@GROUPS@', () => parents.map(words => quote(words.join(' '))).join('|'))
		.replace('@FOLLOWING@', () =>
			parents
				.map(words =>
					line(
						words.join(' '),
						'found',
						findFollowing(completed, words).map(({name}) => name),
					),
				)
				.join('\n'),
		)
		.replace('@OPTIONS@', () => commands.map(command => line(nameOf(command), 'found', flagsOf(command))).join('\n'))
		.replace('@VALUES@', () => commands.flatMap(valuesOf).join('\n'))
		.replace('@ARGUMENTS@', () => commands.flatMap(argumentsOf).join('\n'))
		.replace('@PASSING@', () =>
			['@', ...commands.filter(({passesThrough}) => passesThrough).map(nameOf)].map(quote).join('|'),
		);
}

function nameOf({words}: CompletedCommand): string {
	return words.join(' ');
}

function flagsOf({options}: CompletedCommand): string[] {
	return options.flatMap(({short, long}) => (short === undefined ? [long] : [short, long]));
}

function valuesOf(command: CompletedCommand): string[] {
	return command.options
		.filter(({value}) => value !== undefined)
		.flatMap(({short, long, completes}) =>
			[short, long]
				.filter(flag => flag !== undefined)
				.map(flag => line(`${nameOf(command)}:${flag}`, 'kind', kindOf(completes) ?? 'anything')),
		);
}

function argumentsOf(command: CompletedCommand): string[] {
	return command.arguments.map(({completes, isRepeated}, at) => {
		const kind = kindOf(completes) ?? (command.passesThrough ? 'file' : 'anything');
		if (!isRepeated) return line(`${nameOf(command)}:${at}`, 'kind', kind);
		const first = kind === PROGRAM ? `${line(`${nameOf(command)}:${at}`, 'kind', kind)}\n` : '';
		return `${first}\t${quote(`${nameOf(command)}:`)}*) kind=${quote(kind === PROGRAM ? 'file' : kind)} ;;`;
	});
}

function kindOf(completes: Completion | undefined): string | undefined {
	return completes?.kind === 'words' ? `words ${completes.words.join(' ')}` : completes?.kind;
}

function line(pattern: string, variable: string, value: string | readonly string[]): string {
	const text = typeof value === 'string' ? value : value.join(' ');
	return `\t${quote(pattern)}) ${variable}=${quote(text)} ;;`;
}

function quote(text: string): string {
	return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

const BODY = String.raw`# Completion of longarm for bash, made by: longarm completion bash

# Which commands, or options, can follow.
_longarm_following() {
	case "$1" in
@FOLLOWING@
	*) found= ;;
	esac
}

_longarm_options() {
	case "$1" in
@OPTIONS@
	*) found='--help --version' ;;
	esac
}

# What the value of an option is; nothing for a switch.
_longarm_value() {
	case "$1:$2" in
@VALUES@
	*) kind= ;;
	esac
}

_longarm_argument() {
	case "$1:$2" in
@ARGUMENTS@
	*) kind=anything ;;
	esac
}

_longarm_add() {
	local word
	while IFS= read -r word; do
		[[ -n $word ]] && COMPREPLY+=("$word")
	done
}

_longarm_names() {
	longarm completion names 2>/dev/null
}

# Paths of another machine; bash completes what is behind the last colon.
_longarm_paths() {
	local head="${'$'}{1%"${'$'}{1##*:}"}" word
	while IFS= read -r word; do
		printf '%s\n' "${'$'}{word#"$head"}"
	done < <(LONGARM_WORD="$1" longarm completion paths 2>/dev/null)
}

# Ids and names of processes where the line says, or of the default environment.
_longarm_processes() {
	LONGARM_WORD="$1" LONGARM_AT="$at" longarm completion processes 2>/dev/null
}

_longarm_hint() {
	type compopt &>/dev/null && compopt -o "$1" 2>/dev/null
}

_longarm_offer() {
	local kind="$1" word="$2"
	case "$kind" in
	words\ *) _longarm_add < <(compgen -W "${'$'}{kind#words }" -- "$word") ;;
	environment)
		if [[ $word == unix:* ]]; then _longarm_offer file "${'$'}{word#unix:}"; else
			_longarm_add < <(compgen -W "$(_longarm_names)" -- "$word")
		fi
		;;
	file)
		_longarm_hint filenames
		_longarm_add < <(compgen -f -- "$word")
		;;
	directory)
		_longarm_hint filenames
		_longarm_add < <(compgen -d -- "$word")
		;;
	process) _longarm_add < <(_longarm_processes "$word") ;;
	command) _longarm_add < <(compgen -c -- "$word" | sort -u) ;;
	address)
		# The first colon of a socket's address is followed by a path of this machine, any other by one of the other machine.
		if [[ $word == unix:* && ${'$'}{word#unix:} != *:* ]]; then _longarm_offer file "${'$'}{word#unix:}"; fi
		if [[ $word == *:* ]]; then
			[[ $word == unix:* && ${'$'}{word#unix:} != *:* ]] && return
			_longarm_add < <(_longarm_paths "$word")
			_longarm_hint filenames
			[[ ${'$'}{COMPREPLY[*]} == */ ]] && _longarm_hint nospace
			return
		fi
		_longarm_add < <(compgen -S : -W "$(_longarm_names)" -- "$word")
		if ((${'$'}{#COMPREPLY[@]} > 0)); then _longarm_hint nospace; else _longarm_hint filenames; fi
		_longarm_add < <(compgen -f -- "$word")
		;;
	esac
}

_longarm() {
	# The line is cut at spaces only: colons and equal signs are parts of our words, and not of bash's.
	local line="${'$'}{COMP_LINE:0:COMP_POINT}" words found kind= word current path= place=0 over= at= last i
	read -ra words <<<"$line"
	[[ $line == *[[:space:]] ]] && words+=("")
	last=$((${'$'}{#words[@]} - 1))
	current="${'$'}{words[last]}"
	COMPREPLY=()
	for ((i = 1; i < last; i++)); do
		word="${'$'}{words[i]}"
		if [[ -n $kind ]]; then
			[[ $kind == environment ]] && at="$word"
			kind=
		elif [[ -z $over && $word == -- ]]; then
			over=yes
		elif [[ -z $over && $word == -* ]]; then
			_longarm_value "$path" "${'$'}{word%%=*}"
			if [[ $word == *=* ]]; then
				[[ $kind == environment ]] && at="${'$'}{word#*=}"
				kind=
			fi
		else
			case "$path" in
			@GROUPS@) path="${'$'}{path:+$path }$word" ;;
			*)
				place=$((place + 1))
				case "$path" in @PASSING@) over=yes ;; esac
				;;
			esac
		fi
	done
	if [[ -n $kind ]]; then
		_longarm_offer "$kind" "$current"
	elif [[ -z $over && $current == --*=* ]]; then
		_longarm_value "$path" "${'$'}{current%%=*}"
		_longarm_offer "$kind" "${'$'}{current#*=}"
	elif [[ -z $over && $current == -* ]]; then
		_longarm_options "$path"
		_longarm_add < <(compgen -W "$found" -- "$current")
	else
		_longarm_following "$path"
		if [[ -n $found ]]; then
			_longarm_add < <(compgen -W "$found" -- "$current")
		else
			_longarm_argument "$path" "$place"
			_longarm_offer "$kind" "$current"
		fi
	fi
}

complete -F _longarm longarm
`;
