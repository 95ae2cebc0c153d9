import {readOptions, SEED} from '../lib/options.mjs';

const ABOUT = `Sends random and mutated messages to the built server and checks what it promises: every request is answered once,
malformed messages are answered with id -1 or end the connection, nothing ends the server, nothing is left behind.
Exits 0 if every promise was kept and 1 otherwise.`;

/** The options of this run, for every module of the fuzzer. */
export const options = readOptions(ABOUT, {
	messages: {default: 1_000_000, help: 'how many messages to send'},
	seed: SEED,
	transport: {default: 'both', choices: ['ws', 'stdio', 'both'], help: 'the transport to send them over'},
	only: {type: 'number', help: 'runs one episode of the seed and prints every message'},
	json: {default: false, help: 'prints the result as JSON instead of a table'},
});
