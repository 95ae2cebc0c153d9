import {weightedList} from '../lib/random.mjs';
import {isHarmless} from './harmless.mjs';
import {huge, large} from './large.mjs';
import {validMessage} from './messages.mjs';
import {mutatedTree} from './mutate-members.mjs';
import {mutatedBytes, mutatedText, nonsense} from './mutate-text.mjs';
import {withNamesOfRun} from './stand-ins.mjs';

/** One message and what it has to lead to: harmless to the machine, and no reason to hang up. */
export function generate(peer) {
	const {episode, link} = peer;
	for (let tries = 0; tries < 20; tries++) {
		const made = episode.random.pick(MAKERS)(episode);
		const payload = typeof made.payload === 'string' ? made.payload.toWellFormed() : made.payload;
		made.payload = withNamesOfRun(payload, episode.sessions);
		const classifications = link.classify(made.payload).map(classification => settled(classification, peer));
		if (classifications.every(classification => classification.kind !== 'fatal' && isHarmless(classification)))
			return {...made, classifications};
	}
	const payload = JSON.stringify({id: episode.nextId++, method: 'environment/status'});
	return {payload, kind: 'valid', classifications: link.classify(payload)};
}

/** `initialized` may come again, but must not come too early. */
function settled(classification, {state}) {
	if (classification.kind !== 'initialized') return classification;
	return {kind: state === 'ready' ? 'silent' : 'fatal'};
}

const MAKERS = weightedList([
	[36, episode => ({payload: JSON.stringify(validMessage(episode)), kind: 'valid'})],
	[34, episode => ({payload: mutatedTree(episode), kind: 'mutated members'})],
	[18, episode => ({payload: mutatedText(episode), kind: 'mutated text'})],
	[5, episode => ({payload: mutatedBytes(episode), kind: 'mutated bytes'})],
	[4, episode => ({payload: nonsense(episode), kind: 'nonsense'})],
	[2, episode => ({payload: JSON.stringify(validMessage(episode)), binary: true, kind: 'valid, binary'})],
	[
		1,
		episode =>
			episode.random.chance(0.7) ? {payload: mutatedTree(episode), kind: 'mutated members'} : sizeable(episode),
	],
]);

function sizeable(episode) {
	return episode.random.chance(0.03)
		? {payload: huge(episode), kind: 'huge'}
		: {payload: large(episode), kind: 'large'};
}
