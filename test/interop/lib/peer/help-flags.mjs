import {spawnSync} from 'node:child_process';
import {sortKeys} from './sorting.mjs';

/** Commands whose flags are recorded. */
const COMMANDS = ['exec-server', 'exec-server forward'];
const FLAG = /^ {2,6}(?:-\w, )?(--[\w-]+)(?: <(.+?)>)?$/gm;
/** Defaults and lists of values, not names of variables. */
const NOTE = /\[(?:default|possible values): [^\]]*\]/g;

/** Reads the flags of the server's commands from their help, as `{command: {flag: value}}`; a switch has the value ''. */
export function readFlags(program) {
	return Object.fromEntries(
		COMMANDS.map(command => {
			const {stdout} = spawnSync(program, [...command.split(' '), '--help'], {encoding: 'utf8'});
			return [command, parseHelp(stdout)];
		}),
	);
}

/** Reads the flags from a help text, with the defaults and possible values that follow them. */
export function parseHelp(text) {
	const found = [...text.matchAll(FLAG)];
	const rows = found.map(({0: line, 1: flag, 2: value = '', index}, place) => {
		const explanation = text.slice(index + line.length, found[place + 1]?.index);
		return [flag, [value, ...(explanation.match(NOTE) ?? [])].filter(Boolean).join(' ')];
	});
	return sortKeys(Object.fromEntries(rows));
}
