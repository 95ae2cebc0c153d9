// Finds out how a server decodes parameters, from the texts of its errors. Servers decode parameters before they check
// the handshake, so that nothing is executed on a connection without `initialize`.
import {joinPath} from './shapes.mjs';
import {joinNames, sortKeys} from './sorting.mjs';

const METHOD_NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;
/** Valid as a JSON value of a member, and in no list of names. */
const NO_NAME = 'longarm-probe';

/** Texts of expected types in errors, and their names. */
const TYPES = [
	[/^a string/, 'string'],
	[/^(?:usize|[ui]\d+|a nonzero [ui]\d+)/, 'integer'],
	[/^a sequence/, 'array'],
	[/^a map/, 'map'],
	[/^(?:struct|internally tagged enum|adjacently tagged enum)/, 'object'],
	[/^a boolean/, 'boolean'],
	[/^(?:variant identifier|string or map|enum)/, 'string'],
];

/** Returns whether the server knows a method. */
export async function isServed(client, method) {
	const {error} = await client.call(method, []);
	return error?.code !== METHOD_NOT_FOUND;
}

/**
 * Changes one member of valid parameters at a time. Returns `{memberCount, refused, params, enums}`: the number of members that
 * the server decodes, by its own account, its error if it does not accept `valid` any more, the types of the members in
 * `valid` that it knows, and the names that it accepts.
 */
export async function probeParams(client, method, valid) {
	const send = async params => {
		const {error} = await client.call(method, params);
		return error?.code === INVALID_PARAMS ? error.message : undefined;
	};
	const refused = await send(valid);
	const found = {params: {}, enums: {}};
	for (const place of listPlaces(valid)) await probePlace(send, valid, place, found);
	return {memberCount: readMemberCount(await send([])), refused, params: sortKeys(found.params), enums: found.enums};
}

/** Probes one member, and records it if the server knows it. */
async function probePlace(send, valid, keys, {params, enums}) {
	const value = keys.reduce((inner, key) => inner[key], valid);
	const wrong = typeof value === 'boolean' ? NO_NAME : true;
	const type = readType(await send(replace(valid, keys, wrong)));
	if (type === undefined) return;
	const path = keys.reduce(joinPath, '');
	const isRequired =
		/[\]}]$/.test(path) || (await send(replace(valid, keys, undefined)))?.startsWith('missing field') === true;
	const members = type === 'object' ? readMemberCount(await send(replace(valid, keys, []))) : undefined;
	params[isRequired ? path : `${path}?`] = members === undefined ? type : `${type} of ${members}`;
	const names = readNames(await send(replace(valid, keys, NO_NAME)));
	if (names) enums[path] = joinNames(names);
}

/** Lists the paths of all members, those of the first item of an array included. */
function listPlaces(value, keys = []) {
	if (value === null || typeof value !== 'object') return [];
	const entries = Array.isArray(value) ? value.slice(0, 1).map(item => [0, item]) : Object.entries(value);
	return entries.flatMap(([key, inner]) => [[...keys, key], ...listPlaces(inner, [...keys, key])]);
}

/** Returns a copy with another value in one place; `undefined` removes the member. */
function replace(value, [key, ...rest], other) {
	if (key === undefined) return other;
	if (Array.isArray(value)) return value.map((item, index) => (index === key ? replace(item, rest, other) : item));
	return {...value, [key]: replace(value[key], rest, other)};
}

function readType(message = '') {
	const expected = /expected (.+)$/.exec(message)?.[1] ?? '';
	return TYPES.find(([pattern]) => pattern.test(expected))?.[1];
}

function readMemberCount(message = '') {
	const count = /with (\d+) elements?$/.exec(message)?.[1];
	return count && Number(count);
}

function readNames(message = '') {
	const expected = /^unknown variant `[^`]*`, expected (.+)$/.exec(message)?.[1];
	return expected && [...expected.matchAll(/`([^`]+)`/g)].map(([, name]) => name);
}
