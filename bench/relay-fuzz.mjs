// Random and mutated frames, records and handshakes against the codec, the Noise channel, the relay and both ends' streams:
// nothing may throw what it does not promise, hang, or let a message through that nobody sent.
//   node bench/relay-fuzz.mjs [--count N] [--seed N]
// Needs a build: it takes the compiled modules of dist.

import {fuzzRelay} from './fuzz/relay-cases.mjs';
import {readOptions} from './lib/options.mjs';

const options = readOptions('Random and mutated frames, records and handshakes of the relay.', {
	count: {default: 1_000_000, help: 'cases to try'},
	seed: {default: 1, help: 'of the random numbers'},
});
const began = performance.now();
const {count, outcomes, violations} = await fuzzRelay(options);
const seconds = (performance.now() - began) / 1000;
console.log(`${count} cases in ${seconds.toFixed(1)} s, ${Math.round(count / seconds)}/s`);
for (const [name, times] of Object.entries(outcomes).sort(([one], [other]) => one.localeCompare(other)))
	console.log(`  ${String(times).padStart(9)}  ${name}`);
for (const violation of violations) console.log(`VIOLATION ${violation}`);
process.exitCode = violations.length === 0 ? 0 : 1;
