import {joinNames, sortKeys} from './sorting.mjs';

/** Members whose keys are data, such as names of variables. Capabilities are recorded apart. */
const MAPS = /(?:^|\.)(?:capabilities|env|set|domains)$/;

/**
 * Collects the shape of JSON values: the type of each member by its path, such as `chunks[].seq`. A member that some
 * objects lack is marked with `?`.
 */
export class Shape {
	#members = new Map();

	add(value) {
		this.#walk('', value);
		return this;
	}

	/** Returns `{path: types}` in the order of the paths. */
	toJSON() {
		const rows = [...this.#members]
			.filter(([path]) => path !== '')
			.map(([path, member]) => this.#describe(path, member));
		return sortKeys(Object.fromEntries(rows));
	}

	#walk(path, value) {
		const member = this.#find(path);
		member.count++;
		if (Array.isArray(value)) {
			member.types.add('array');
			for (const item of value) this.#walk(joinPath(path, 0), item);
		} else if (value !== null && typeof value === 'object') {
			const isMap = MAPS.test(path);
			member.types.add(isMap ? 'map' : 'object');
			if (!isMap) member.objects++;
			for (const [key, inner] of Object.entries(value)) this.#walk(joinPath(path, key), inner);
		} else member.types.add(nameType(value));
	}

	#find(path) {
		const known = this.#members.get(path);
		if (known) return known;
		const fresh = {types: new Set(), count: 0, objects: 0};
		this.#members.set(path, fresh);
		return fresh;
	}

	#describe(path, {types, count}) {
		const parent = this.#members.get(path.slice(0, Math.max(path.lastIndexOf('.'), 0)));
		const isItem = /[\]}]$/.test(path);
		return [!isItem && count < parent.objects ? `${path}?` : path, joinNames(types)];
	}
}

/** Returns the path of a member or an item; all items of an array or a map have the same path. */
export function joinPath(path, key) {
	if (typeof key === 'number') return `${path}[]`;
	if (MAPS.test(path)) return `${path}{}`;
	return path === '' ? key : `${path}.${key}`;
}

function nameType(value) {
	if (value === null) return 'null';
	return Number.isInteger(value) ? 'integer' : typeof value;
}
