import {WEIGHTED_METHODS} from './methods.mjs';
import {paramsOf} from './params.mjs';

const OTHER_IDS = ['', '-1', 0, -1, -7, 1, Number.MAX_SAFE_INTEGER, '\u{1f980}', 'x'.repeat(300)];

export function validMessage(episode, method = episode.random.pick(WEIGHTED_METHODS)) {
	const {random} = episode;
	const message = {id: idOf(episode), method, params: paramsOf(method, episode)};
	if (random.chance(0.05)) message.trace = random.pick([null, {}, {traceparent: '00-0-0-00', tracestate: null}]);
	if (random.chance(0.03)) message.jsonrpc = '2.0';
	return message;
}

function idOf(episode) {
	const {random} = episode;
	if (random.chance(0.85)) return episode.nextId++;
	return random.pick([`id-${episode.nextId++}`, ...OTHER_IDS]);
}
