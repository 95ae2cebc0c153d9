import {METHOD_LOTTERY} from './methods.mjs';
import {paramsOf} from './params.mjs';

const OTHER_IDS = ['', '-1', 0, -1, -7, 1, Number.MAX_SAFE_INTEGER, '\u{1f980}', 'x'.repeat(300)];

export function validMessage(story, method = story.random.pick(METHOD_LOTTERY)) {
	const {random} = story;
	const message = {id: idOf(story), method, params: paramsOf(method, story)};
	if (random.chance(0.05)) message.trace = random.pick([null, {}, {traceparent: '00-0-0-00', tracestate: null}]);
	if (random.chance(0.03)) message.jsonrpc = '2.0';
	return message;
}

function idOf(story) {
	const {random} = story;
	if (random.chance(0.85)) return story.nextId++;
	return random.pick([`id-${story.nextId++}`, ...OTHER_IDS]);
}
