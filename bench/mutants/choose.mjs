import {Random} from '../lib/random.mjs';

/**
 * So many places, spread over the modules by the root of their size and within a module evenly over the kinds of change:
 * otherwise the two largest modules and their conditions would be most of what is tried. One change per line at most.
 */
export function choosePlaces(byModule, {count, seed}) {
	const random = new Random(seed);
	const weights = Object.entries(byModule).map(([module, places]) => [module, Math.sqrt(places.length)]);
	const total = weights.reduce((sum, [, weight]) => sum + weight, 0);
	return weights.flatMap(([module, weight]) => {
		const wanted = Math.max(1, Math.round((count * weight) / total));
		return draw(byModule[module], wanted, random).map(place => ({module, ...place}));
	});
}

function draw(places, wanted, random) {
	const kinds = [...new Set(places.map(({operator}) => operator))].map(kind =>
		places.filter(({operator}) => operator === kind),
	);
	const taken = new Map();
	while (taken.size < wanted && kinds.some(kind => kind.length > 0)) {
		const kind = random.pick(kinds.filter(({length}) => length > 0));
		const [place] = kind.splice(random.integer(0, kind.length - 1), 1);
		const line = `${place.file}:${place.line}`;
		if (!taken.has(line)) taken.set(line, place);
	}
	return [...taken.values()].sort((a, b) => (a.file < b.file ? -1 : a.file > b.file ? 1 : a.start - b.start));
}
