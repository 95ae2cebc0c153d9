import {MIB} from '../lib/measure.mjs';
import {LONG_KEY_CHARS, MAX_VALUES} from './limits.mjs';
import {validMessage} from './messages.mjs';
import {REQUESTS} from './methods.mjs';
import {someProcess, startParams} from './params.mjs';

/** From 16 KiB to a megabyte. */
export function large(episode) {
	const {random} = episode;
	const length = random.pick([16 * 1024, 64 * 1024, 70_000, 300_000]);
	const ask = (method, params) => JSON.stringify({id: episode.nextId++, method, params});
	const start = (argv, changes) => ask('process/start', startParams(`p${++episode.started}`, argv, changes));
	return random.pick([
		() => JSON.stringify({...validMessage(episode, random.pick(REQUESTS)), extra: base64(random, length)}),
		() => JSON.stringify({id: 'y'.repeat(length), method: 'environment/status'}),
		() => ask('x'.repeat(length)),
		() => ask('process/read', {processId: '\u{1f980}'.repeat(length / 4)}),
		() => ask('process/write', {processId: someProcess(episode), chunk: base64(random, length)}),
		() => start(['/bin/true', 'a'.repeat(length)], {tty: random.chance(0.5)}),
		() => start(['/bin/true', ...Array(random.below(3000)).fill('a'.repeat(100))]),
		() => start(['true'], {env: manyVariables(random.below(2000))}),
		() => start(['true'], {cwd: `file:///${'a/'.repeat(length / 8)}`}),
		() => `${' '.repeat(length)}{"id":${episode.nextId++},"method":"environment/status"}`,
		() => `{"id":${episode.nextId++},"method":"nope","params":{${longKeys(15 + random.below(4))}}}`,
		() => `{"id":${episode.nextId++},"method":"nope","params":"${'\\n'.repeat(length / 4)}"}`,
	])();
}

/** About half a megabyte of values, or more of everything. */
export function huge(episode) {
	const {random} = episode;
	const id = episode.nextId++;
	const values = MAX_VALUES - 4 + random.pick([-1, 0, 1, 2, 1000]);
	return random.pick([
		() => `{"id":${id},"method":"nope","params":[${'0,'.repeat(values - 1)}0]}`,
		() => `{"id":${id},"method":"nope","params":{${Array.from({length: values}, (_, key) => `"${key}":0`).join()}}}`,
		() => `{"id":${id},"method":"process/start","params":[${'[],'.repeat(50_000)}0]}`,
		() => JSON.stringify({id, method: 'process/snapshot', params: {processId: 'z'.repeat(2 * MIB)}}),
		() => JSON.stringify({id, method: 'process/signal', params: {processId: 'z', signal: {name: 'z'.repeat(MIB)}}}),
		() => `${'['.repeat(100_000)}${']'.repeat(100_000)}`,
	])();
}

function longKeys(howMany) {
	return Array.from({length: howMany}, (_, key) => `"${String(key).padStart(LONG_KEY_CHARS, 'k')}":0`).join();
}

function manyVariables(howMany) {
	return Object.fromEntries(Array.from({length: howMany}, (_, index) => [`V${index}`, 'a'.repeat(50)]));
}

function base64(random, length) {
	return random.bytes(length).toString('base64');
}
