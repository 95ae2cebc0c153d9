import {validMessage} from './messages.mjs';
import {mutatedTree} from './mutate-members.mjs';
import {BAD_UTF8, nested, RAW_VALUES, VALUES} from './values.mjs';

/** What JSON is made of, and a little more. */
const SYMBOLS = '{ } [ ] " , : 0 1 e - . \\ u t r f n \t \r'.split(' ');

export function mutatedText(story) {
	const {random} = story;
	let text = JSON.stringify(validMessage(story));
	for (let count = 1 + random.int(2); count > 0; count--) text = random.pick(TEXT_MUTATIONS)(text, random, story);
	return text;
}

const TEXT_MUTATIONS = [
	// The same key twice, in the same spelling or in another.
	(text, random) => {
		const [all, first, rest] = random.pick([...text.matchAll(/"(\w)(\w*)":/g)]) ?? ['', '', ''];
		const spelt = random.chance(0.5) ? all : `"\\u00${first.charCodeAt(0).toString(16)}${rest}":`;
		return text.replace(all, `${spelt}${random.pick(['null', '1', '"x"', '{}'])},${all}`);
	},
	(text, random) => text.slice(0, random.int(text.length)),
	(text, random) => text.slice(random.int(text.length)),
	text => `\ufeff${text}`,
	(text, random) =>
		insert(text, random.int(text.length), random.pick(['\0', '\x7f', '\u0080', '\u2028', '\u{1f980}', '\ufeff'])),
	(text, random) => insert(text, random.int(text.length), random.pick(SYMBOLS)),
	(text, random) => cut(text, random.int(text.length), 1 + random.int(3)),
	text => text.replaceAll(/([{}[\]:,])/g, ' \t$1\r '),
	(text, random) => text + random.pick(['x', '}', ']', ',', '\0', ' ', '//', '{}', ' {}']),
	(text, random, story) => text + JSON.stringify(validMessage(story)),
	(text, random, story) => `[${text},${JSON.stringify(validMessage(story))}]`,
	text => `[${text}]`,
	text => JSON.stringify(text),
	text => text.replaceAll('"', "'"),
	(text, random) => text.replace(/"id":\s*[^,]+/, `"id":${random.pick(RAW_VALUES)}`),
	(text, random) => text.replace(/:\d+/, `:${random.pick(RAW_VALUES)}`),
	(text, random) => text.replace(/"params":/, `"extra":${nested(random)},"params":`),
	(text, random) => text.replaceAll(/[a-z]/g, letter => (random.chance(0.2) ? escaped(letter) : letter)),
	(text, random) =>
		insert(text, random.int(text.length), random.pick(['\\ud800', '\\udfff', '\\ud83d\\ude00', '\\u0000', '\\u'])),
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
export function mutatedBytes(story) {
	const {random} = story;
	const bytes = Buffer.from(random.chance(0.7) ? JSON.stringify(validMessage(story)) : mutatedTree(story));
	const at = random.int(bytes.length);
	if (random.chance(0.5)) {
		return Buffer.concat([bytes.subarray(0, at), Buffer.from(random.pick(BAD_UTF8), 'hex'), bytes.subarray(at)]);
	}
	for (let count = 1 + random.int(4); count > 0; count--) bytes[random.int(bytes.length)] ^= 1 << random.int(8);
	return bytes;
}

export function nonsense(story) {
	const {random} = story;
	return random.pick([
		() => '',
		() => ' ',
		() => '\0',
		() => random.bytes(random.int(300)),
		() => random.bytes(random.int(60)).toString('latin1'),
		() => random.pick(RAW_VALUES),
		() => JSON.stringify(random.pick(VALUES)),
		() => nested(random),
		() => Array.from({length: random.int(30)}, () => random.pick(SYMBOLS)).join(''),
		() => '{"id":1,"error":{"code":1}}',
		() => '{"id":null,"result":1}',
		() => '{"method":null}',
		() => '{"id":{},"method":"environment/status"}',
		() => '{"id":1,"method":["environment/status"]}',
		() => '{"method":"initialized","params":5}',
	])();
}
