import {validMessage} from './messages.mjs';
import {mutatedTree} from './mutate-members.mjs';
import {BAD_UTF8, nested, RAW_VALUES, VALUES} from './values.mjs';

/** The characters of JSON syntax, and a few more. */
const SYMBOLS = '{ } [ ] " , : 0 1 e - . \\ u t r f n \t \r'.split(' ');

export function mutatedText(episode) {
	const {random} = episode;
	let text = JSON.stringify(validMessage(episode));
	for (let count = 1 + random.below(2); count > 0; count--) text = random.pick(TEXT_MUTATIONS)(text, random, episode);
	return text;
}

const TEXT_MUTATIONS = [
	// The same key twice, in the same spelling or in another.
	(text, random) => {
		const [all, first, rest] = random.pick([...text.matchAll(/"(\w)(\w*)":/g)]) ?? ['', '', ''];
		const spelt = random.chance(0.5) ? all : `"\\u00${first.charCodeAt(0).toString(16)}${rest}":`;
		return text.replace(all, `${spelt}${random.pick(['null', '1', '"x"', '{}'])},${all}`);
	},
	(text, random) => text.slice(0, random.below(text.length)),
	(text, random) => text.slice(random.below(text.length)),
	text => `\ufeff${text}`,
	(text, random) =>
		insert(text, random.below(text.length), random.pick(['\0', '\x7f', '\u0080', '\u2028', '\u{1f980}', '\ufeff'])),
	(text, random) => insert(text, random.below(text.length), random.pick(SYMBOLS)),
	(text, random) => cut(text, random.below(text.length), 1 + random.below(3)),
	text => text.replaceAll(/([{}[\]:,])/g, ' \t$1\r '),
	(text, random) => text + random.pick(['x', '}', ']', ',', '\0', ' ', '//', '{}', ' {}']),
	(text, random, episode) => text + JSON.stringify(validMessage(episode)),
	(text, random, episode) => `[${text},${JSON.stringify(validMessage(episode))}]`,
	text => `[${text}]`,
	text => JSON.stringify(text),
	text => text.replaceAll('"', "'"),
	(text, random) => text.replace(/"id":\s*[^,]+/, `"id":${random.pick(RAW_VALUES)}`),
	(text, random) => text.replace(/:\d+/, `:${random.pick(RAW_VALUES)}`),
	(text, random) => text.replace(/"params":/, `"extra":${nested(random)},"params":`),
	(text, random) => text.replaceAll(/[a-z]/g, letter => (random.chance(0.2) ? escaped(letter) : letter)),
	(text, random) =>
		insert(text, random.below(text.length), random.pick(['\\ud800', '\\udfff', '\\ud83d\\ude00', '\\u0000', '\\u'])),
	text => text.replace('{', '{"":0,"__proto__":{"id":1},'),
	text => text.replace(/"id":[^,]+,/, ''),
	text => `${text.slice(0, -1)},"result":null,"error":null}`,
];

function escaped(letter) {
	return `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

function insert(text, at, what) {
	return text.slice(0, at) + what + text.slice(at);
}

function cut(text, at, length) {
	return text.slice(0, at) + text.slice(at + length);
}

/** Bytes that are often no UTF-8; a text frame of such ends the connection, a binary one does not. */
export function mutatedBytes(episode) {
	const {random} = episode;
	const bytes = Buffer.from(random.chance(0.7) ? JSON.stringify(validMessage(episode)) : mutatedTree(episode));
	const at = random.below(bytes.length);
	if (random.chance(0.5)) {
		return Buffer.concat([bytes.subarray(0, at), Buffer.from(random.pick(BAD_UTF8), 'hex'), bytes.subarray(at)]);
	}
	for (let count = 1 + random.below(4); count > 0; count--) bytes[random.below(bytes.length)] ^= 1 << random.below(8);
	return bytes;
}

export function nonsense(episode) {
	const {random} = episode;
	return random.pick([
		() => '',
		() => ' ',
		() => '\0',
		() => random.bytes(random.below(300)),
		() => random.bytes(random.below(60)).toString('latin1'),
		() => random.pick(RAW_VALUES),
		() => JSON.stringify(random.pick(VALUES)),
		() => nested(random),
		() => Array.from({length: random.below(30)}, () => random.pick(SYMBOLS)).join(''),
		() => '{"id":1,"error":{"code":1}}',
		() => '{"id":null,"result":1}',
		() => '{"method":null}',
		() => '{"id":{},"method":"environment/status"}',
		() => '{"id":1,"method":["environment/status"]}',
		() => '{"method":"initialized","params":5}',
	])();
}
