import {failUsage, parseCommandLine} from '../../lib/options.mjs';
import {METRICS} from '../metrics/index.mjs';
import {SIZES} from '../metrics/sizes.mjs';
import {parseServer} from './server.mjs';

const DEFAULT_TIMEOUT_SECONDS = 60;
const DEFAULT_REPETITIONS = {quick: 1, full: 7};

const HELP = `usage: node bench/compare/bench.mjs --server NAME=COMMAND [--server NAME=COMMAND ...] [options]

  --server NAME=COMMAND   a command that prints ws://HOST:PORT on stdout or stderr; the first server is the base of the ratios
           NAME=stdio:COMMAND   a command that speaks the protocol on its stdin and stdout, one message per line
           NAME=ws://HOST:PORT  a server that is already running (no startup metric)
  --only A,B              run these metrics only (${Object.keys(METRICS).join(', ')})
  --skip A,B              leave these out
  --reps N                repetitions, interleaved across servers (default ${DEFAULT_REPETITIONS.full}; ${DEFAULT_REPETITIONS.quick} with --quick)
  --quick                 small sizes: the whole set for two servers in about a minute
  --json FILE             write every raw value
  --md FILE               write the table as markdown
  --set KEY=N             override one size (${Object.keys(SIZES.full).join(', ')})
  --timeout SECONDS       limit for one measurement of one server (default ${DEFAULT_TIMEOUT_SECONDS})
  --floors FILE           what a C program reaches, from floors.mjs --json: a column that compares the second server with it
  --scratch DIR           where fixtures and the servers' HOME go (default: a new directory under the temp dir)
`;

const OPTIONS = {
	server: {type: 'string', multiple: true},
	only: {type: 'string'},
	skip: {type: 'string'},
	reps: {type: 'string'},
	quick: {type: 'boolean'},
	json: {type: 'string'},
	md: {type: 'string'},
	set: {type: 'string', multiple: true},
	timeout: {type: 'string'},
	floors: {type: 'string'},
	scratch: {type: 'string'},
};

/** The options of the suite. Prints the help and ends the program when asked; misuse ends it with exit code 2. */
export function readOptions() {
	const values = parseCommandLine(OPTIONS, () => HELP);
	const isQuick = values.quick ?? false;
	const servers = (values.server ?? []).map(text => parseServer(text) ?? misused('server', 'NAME=COMMAND', text));
	if (servers.length === 0) failUsage('--server: at least one is needed');
	const names = servers.map(({name}) => name);
	const twice = names.find((name, index) => names.indexOf(name) !== index);
	if (twice !== undefined) failUsage(`--server: ${twice} is there twice`);
	const only = metricNames('only', values.only);
	const skip = metricNames('skip', values.skip) ?? [];
	return {
		servers,
		metrics: Object.keys(METRICS).filter(name => (only?.includes(name) ?? true) && !skip.includes(name)),
		isQuick,
		repetitions: wholeNumber('reps', values.reps) ?? DEFAULT_REPETITIONS[isQuick ? 'quick' : 'full'],
		sizes: {...SIZES[isQuick ? 'quick' : 'full'], ...Object.fromEntries((values.set ?? []).map(parseSize))},
		timeoutSeconds: positive('timeout', values.timeout) ?? DEFAULT_TIMEOUT_SECONDS,
		json: values.json,
		markdown: values.md,
		floors: values.floors,
		scratch: values.scratch,
	};
}

function metricNames(option, text) {
	const names = text?.split(',');
	const unknown = names?.find(name => !Object.hasOwn(METRICS, name));
	if (unknown !== undefined) failUsage(`--${option}: there is no metric ${JSON.stringify(unknown)}`);
	return names;
}

function parseSize(text) {
	const [, key, number] = /^(\w+)=(\d+)$/.exec(text) ?? [];
	if (key === undefined || Number(number) < 1) misused('set', 'KEY=N with N above zero', text);
	if (!Object.hasOwn(SIZES.full, key)) failUsage(`--set: there is no size ${JSON.stringify(key)}`);
	return [key, Number(number)];
}

function wholeNumber(option, text) {
	if (text !== undefined && !/^[1-9]\d*$/.test(text)) misused(option, 'a whole number above zero', text);
	return text === undefined ? undefined : Number(text);
}

function positive(option, text) {
	if (text !== undefined && !(Number(text) > 0)) misused(option, 'a number above zero', text);
	return text === undefined ? undefined : Number(text);
}

function misused(option, expected, text) {
	return failUsage(`--${option}: expected ${expected}, got ${JSON.stringify(text)}`);
}
