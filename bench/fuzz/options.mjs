import {parseArgs} from 'node:util';

const HELP = `Usage: node bench/fuzz.mjs [options]

Sends random and mutated messages to the built server and checks what it promises: every request is answered once,
malformed messages are answered with id -1 or end the connection, nothing ends the server, nothing is left behind.

  --messages N               how many messages to send (default: 1000000)
  --seed N                   the run to make (default: from the clock)
  --transport ws|stdio|both  what to send them over (default: both)
  --only I                   plays one episode of the seed, with everything that is said
  --json                     prints the result as JSON instead of a table
  --help                     prints this text

Exits 0 if every promise was kept and 1 otherwise.`;

/** `{messages, seed, transport, only, json}`; prints the help or the misuse and exits. */
export const options = read();

function read() {
	const {values} = parsedArguments();
	if (values.help) {
		console.log(HELP);
		process.exit(0);
	}
	const {transport, json} = values;
	const [messages, seed, only] = [values.messages, values.seed, values.only ?? '-1'].map(Number);
	if (![messages, seed, only].every(Number.isInteger)) misused('expected whole numbers');
	if (!['ws', 'stdio', 'both'].includes(transport)) misused(`unknown transport ${transport}`);
	return {messages, seed, transport, json, only: only < 0 ? undefined : only};
}

function parsedArguments() {
	try {
		return parseArgs({
			options: {
				messages: {type: 'string', default: '1000000'},
				seed: {type: 'string', default: String(Date.now() % 1_000_000)},
				transport: {type: 'string', default: 'both'},
				only: {type: 'string'},
				json: {type: 'boolean', default: false},
				help: {type: 'boolean', default: false},
			},
		});
	} catch (error) {
		return misused(error.message);
	}
}

function misused(what) {
	console.error(`${what}; see node bench/fuzz.mjs --help`);
	process.exit(2);
}
