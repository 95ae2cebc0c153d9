import {parseArgs} from 'node:util';

/**
 * The options of a script by name: `{rounds: {default: 200, help: 'rounds to play'}}` reads `--rounds 50`, and `listShare`
 * is written `--list-share`. An option has the type of its default: a number, a text, or a flag for `false`; `type` says it
 * for one without a default, which is undefined unless given. `choices` are the only texts it takes. `--help` prints them
 * all and ends the program; misuse ends it with exit code 2.
 */
export function readOptions(about, known) {
	const flags = Object.entries(known).map(([name, spec]) => ({flag: flagOf(name), name, type: typeOf(spec), ...spec}));
	const config = Object.fromEntries(
		flags.map(({flag, type}) => [flag, {type: type === 'boolean' ? 'boolean' : 'string'}]),
	);
	const values = parseCommandLine(config, () => `${about}\n\n${flags.map(helpLine).join('\n')}\n`);
	return Object.fromEntries(flags.map(spec => [spec.name, valueOf(spec, values[spec.flag])]));
}

/** Options for `parseArgs`, `--help` added. Prints the help and ends the program when asked; misuse ends it with exit code 2. */
export function parseCommandLine(options, help) {
	let values;
	try {
		({values} = parseArgs({options: {...options, help: {type: 'boolean', short: 'h'}}}));
	} catch (error) {
		failUsage(error.message);
	}
	if (!values.help) return values;
	process.stdout.write(help());
	return process.exit(0);
}

/** Ends the program because its options cannot be used. */
export function failUsage(message) {
	console.error(`error: ${message}; see --help`);
	process.exit(2);
}

/** Of scripts that use random numbers; the seed is printed, so that a run can be repeated. */
export const SEED = {default: Math.floor(Math.random() * 1e6), help: 'of the random numbers; a new one by default'};

function flagOf(name) {
	return name.replaceAll(/[A-Z]/g, letter => `-${letter.toLowerCase()}`);
}

function typeOf({default: value, type}) {
	return type ?? typeof value;
}

function valueOf({flag, type, default: fallback, choices}, given) {
	if (given === undefined || type === 'boolean') return given ?? fallback;
	if (choices && !choices.includes(given)) failUsage(`--${flag}: expected ${choices.join(', ')}, got ${given}`);
	if (type === 'string') return given;
	const number = Number(given);
	if (given.trim() === '' || !Number.isFinite(number) || number < 0)
		failUsage(`--${flag}: expected a number, got ${given}`);
	return number;
}

function helpLine({flag, name, type, default: value, choices, help}) {
	const placeholder = {string: ` ${choices?.join('|') ?? 'TEXT'}`, number: ' N', boolean: ''}[type];
	const isShown = name !== 'seed' && value !== undefined && type !== 'boolean';
	return `  ${`--${flag}${placeholder}`.padEnd(28)}${help}${isShown ? ` (${value})` : ''}`;
}
