import {isHarmless} from './harmless.mjs';
import {huge, large} from './large.mjs';
import {validMessage} from './messages.mjs';
import {mutatedTree} from './mutate-members.mjs';
import {mutatedBytes, mutatedText, nonsense} from './mutate-text.mjs';
import {lottery} from './random.mjs';

/** One message and what it has to lead to: harmless to the machine, and no reason to hang up. */
export function generate(peer) {
	const {story, link} = peer;
	for (let tries = 0; tries < 20; tries++) {
		const made = story.random.pick(MAKERS)(story);
		if (typeof made.payload === 'string') made.payload = made.payload.toWellFormed();
		const judgements = link.judge(made.payload).map(judgement => settled(judgement, peer));
		if (judgements.every(judgement => judgement.kind !== 'fatal' && isHarmless(judgement)))
			return {...made, judgements};
	}
	const payload = JSON.stringify({id: story.nextId++, method: 'environment/status'});
	return {payload, kind: 'valid', judgements: link.judge(payload)};
}

/** `initialized` may come again, but must not come too early. */
function settled(judgement, {state}) {
	if (judgement.kind !== 'initialized') return judgement;
	return {kind: state === 'ready' ? 'silent' : 'fatal'};
}

const MAKERS = lottery([
	[36, story => ({payload: JSON.stringify(validMessage(story)), kind: 'valid'})],
	[34, story => ({payload: mutatedTree(story), kind: 'mutated members'})],
	[18, story => ({payload: mutatedText(story), kind: 'mutated text'})],
	[5, story => ({payload: mutatedBytes(story), kind: 'mutated bytes'})],
	[4, story => ({payload: nonsense(story), kind: 'nonsense'})],
	[2, story => ({payload: JSON.stringify(validMessage(story)), binary: true, kind: 'valid, binary'})],
	[1, story => (story.random.chance(0.7) ? {payload: mutatedTree(story), kind: 'mutated members'} : sizeable(story))],
]);

function sizeable(story) {
	return story.random.chance(0.03) ? {payload: huge(story), kind: 'huge'} : {payload: large(story), kind: 'large'};
}
