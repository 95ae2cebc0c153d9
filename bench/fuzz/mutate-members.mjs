import {weightedList} from '../lib/random.mjs';
import {validMessage} from './messages.mjs';
import {OTHER_NAMES, REQUESTS} from './methods.mjs';
import {paramsOf} from './params.mjs';
import {nested, RAW_VALUES, VALUES} from './values.mjs';

const OTHER_KEYS = ['', '__proto__', 'constructor', 'toString', 'id', 'path', 'argv'];

export function mutatedTree(episode) {
	const {random} = episode;
	const raws = [];
	const message = copied(validMessage(episode));
	for (let count = 1 + random.below(3); count > 0; count--) random.pick(TREE_MUTATIONS)(message, random, raws, episode);
	const text = JSON.stringify(message);
	return raws.length === 0 ? text : text.replace(/"@raw(\d+)"/g, (_, index) => raws[index]);
}

const TREE_MUTATIONS = weightedList([
	[3, (message, random) => change(message, random, (parent, name) => drop(parent, name))],
	[6, (message, random, raws) => change(message, random, (parent, name) => put(parent, name, anyValue(random, raws)))],
	[2, (message, random) => change(message, random, (parent, name) => rename(parent, name, random))],
	[2, (message, random) => change(message, random, (parent, name) => swap(parent, name, message, random))],
	[
		2,
		(message, random) =>
			change(message, random, (parent, name) => put(parent, name, otherString(parent[name], random))),
	],
	[1, (message, random, raws) => put(message, 'id', anyValue(random, raws))],
	[1, (message, random) => put(message, 'method', random.pick([...REQUESTS, ...OTHER_NAMES]))],
	[1, (message, random, raws, episode) => put(message, 'params', copied(paramsOf(random.pick(REQUESTS), episode)))],
	[1, (message, random, raws) => put(message, 'params', anyValue(random, raws))],
	[2, message => put(message, 'params', Object.values(message.params ?? {}))],
	[
		1,
		(message, random, raws) =>
			put(message, random.pick(['trace', 'result', 'error', 'jsonrpc', '']), anyValue(random, raws)),
	],
	[1, (message, random, raws) => put(message.params ?? message, 'extra', raw(raws, nested(random)))],
]);

/** Applies an action to some member of the message, at any depth. */
function change(message, random, action) {
	const slots = [];
	const visit = parent => {
		for (const name of Object.keys(parent)) {
			slots.push([parent, name]);
			if (typeof parent[name] === 'object' && parent[name] !== null) visit(parent[name]);
		}
	};
	visit(message);
	if (slots.length > 0) action(...random.pick(slots));
}

function put(parent, name, value) {
	if (typeof parent !== 'object' || parent === null) return;
	Object.defineProperty(parent, name, {value, enumerable: true, configurable: true, writable: true});
}

function drop(parent, name) {
	if (Array.isArray(parent)) parent.splice(Number(name), 1);
	else delete parent[name];
}

function rename(parent, name, random) {
	const value = parent[name];
	drop(parent, name);
	if (Array.isArray(parent)) parent.push(value);
	else put(parent, random.pick([name.toUpperCase(), `${name}_`, ` ${name}`, ...OTHER_KEYS]), value);
}

function swap(parent, name, message, random) {
	change(message, random, (other, otherName) => put(parent, name, copied(other[otherName])));
}

/** Its own, without what JSON leaves out. */
function copied(value) {
	return value === undefined ? null : JSON.parse(JSON.stringify(value));
}

function otherString(value, random) {
	if (typeof value !== 'string') return typeof value === 'number' ? value * random.pick([-1, 2, 0.5, 1e9]) : value;
	const at = random.below(value.length + 1);
	const symbols = ['', '\0', '/', '%', '%2', '%2F', '..', '=', ' ', '\n', '\u{1f980}', '\ufffd', 'A', '9', '*'];
	return value.slice(0, at) + random.pick(symbols) + value.slice(at + random.below(3));
}

function anyValue(random, raws) {
	return random.chance(0.3) ? raw(raws, random.pick(RAW_VALUES)) : structuredClone(random.pick(VALUES));
}

/** Text that stands in for itself when the message is written; JSON has no other way to say some things. */
const RAW_MARK = '@raw';

function raw(raws, text) {
	return `${RAW_MARK}${raws.push(text) - 1}`;
}
