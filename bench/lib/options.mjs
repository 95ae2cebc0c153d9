import {parseArgs} from 'node:util';

/**
 * The options of a script by name, each of the type its default has: `{rounds: {default: 200, help: 'rounds to play'}}`
 * reads `--rounds 50`, and `listShare` is written `--list-share`. `--help` prints them all and ends the program; so
 * does what cannot be read, with exit code 2.
 */
export function readOptions(about, known) {
	const flags = Object.fromEntries(Object.keys(known).map(name => [flagOf(name), name]));
	const config = Object.fromEntries(Object.keys(flags).map(flag => [flag, {type: 'string'}]));
	let values;
	try {
		({values} = parseArgs({options: {...config, help: {type: 'boolean', short: 'h'}}}));
	} catch (error) {
		misused(error.message);
	}
	if (values.help) {
		console.log(helpText(about, known));
		process.exit(0);
	}
	return Object.fromEntries(
		Object.entries(flags).map(([flag, name]) => [name, parsed(flag, values[flag], known[name].default)]),
	);
}

/** What scripts with chance in them share; the seed in use is printed, so that a run can be repeated. */
export const SEED = {default: Math.floor(Math.random() * 1e6), help: 'what chance starts from; a new one by default'};

function flagOf(name) {
	return name.replaceAll(/[A-Z]/g, letter => `-${letter.toLowerCase()}`);
}

function parsed(flag, text, fallback) {
	if (text === undefined || typeof fallback === 'string') return text ?? fallback;
	const number = Number(text);
	if (text.trim() === '' || !Number.isFinite(number) || number < 0)
		misused(`--${flag}: expected a number, got ${text}`);
	return number;
}

function helpText(about, known) {
	const lines = Object.entries(known).map(([name, {default: value, help}]) => {
		const shown = name === 'seed' ? '' : ` (${value})`;
		return `  ${`--${flagOf(name)} ${typeof value === 'string' ? 'TEXT' : 'N'}`.padEnd(24)}${help}${shown}`;
	});
	return `${about}\n\n${lines.join('\n')}`;
}

function misused(message) {
	console.error(`error: ${message}; see --help`);
	process.exit(2);
}
