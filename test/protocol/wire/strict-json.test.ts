import * as fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {
	MAX_JSON_DEPTH,
	MAX_JSON_ERROR_CHARS,
	MAX_JSON_VALUES,
	MAX_LONG_JSON_KEYS,
	MIN_LONG_JSON_KEY_CHARS,
	parseByRoundTrip,
	parseByScan,
	parseStrictJson,
	StrictJsonError,
} from '../../../src/protocol/wire/strict-json.js';

/** A JSON value whose objects are lists of members, so that a key can come twice. */
type Node = string | number | boolean | null | Node[] | {members: [string, Node][]};

const {node} = fc.letrec<{node: Node}>(tie => ({
	node: fc.oneof(
		{depthSize: 'small', withCrossShrink: true},
		fc.oneof(
			fc.string({unit: 'grapheme'}),
			fc.double({noNaN: true, noDefaultInfinity: true}),
			fc.boolean(),
			fc.constant(null),
		),
		fc.array(tie('node'), {maxLength: 4}),
		fc
			.uniqueArray(fc.tuple(key(), tie('node')), {maxLength: 12, selector: ([name]) => name})
			.map(members => ({members})),
	),
}));

function key(): fc.Arbitrary<string> {
	return fc.oneof(
		fc.constantFrom('id', 'method', 'params', '', '"', '\\', '__proto__', 'constructor', '1', '\u{1F9BE}'),
		fc.string({unit: 'grapheme', maxLength: 5}),
		fc.string({minLength: 60, maxLength: 70}),
	);
}

/** Chooses at random how to write a node down: white space, escapes. */
const writer = fc.infiniteStream(fc.nat(9)).map(choices => {
	const choose = () => choices.next().value as number;
	const space = () => ['', '', '', '', '', '', ' ', '\n', '\t\r', '   '][choose()] ?? '';
	const unit = (symbol: string) => {
		if (choose() < 7 || symbol === '') return JSON.stringify(symbol).slice(1, -1);
		return Array.from({length: symbol.length}, (_, index) => {
			const hex = symbol.charCodeAt(index).toString(16).padStart(4, '0');
			return `\\u${choose() < 5 ? hex : hex.toUpperCase()}`;
		}).join('');
	};
	const string = (text: string) => `"${Array.from(text, unit).join('')}"`;
	const list = (items: string[], open: string, close: string) =>
		`${open}${space()}${items.join(`${space()},${space()}`)}${space()}${close}`;
	const write = (value: Node): string => {
		if (typeof value === 'string') return string(value);
		if (value === null || typeof value !== 'object') return JSON.stringify(value);
		if (Array.isArray(value)) return list(value.map(write), '[', ']');
		return list(
			value.members.map(([name, member]) => `${string(name)}${space()}:${space()}${write(member)}`),
			'{',
			'}',
		);
	};
	return (value: Node) => `${space()}${write(value)}${space()}`;
});

const DAMAGE = '{}[],:"\\ue0dD8 -1.x\n'.split('');

/** A second opinion by tokens, on a text that JSON.parse accepts. */
function isAcceptable(text: string): boolean {
	const tokens = text.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g) ?? [];
	const open: (Set<unknown> | undefined)[] = [];
	for (const [index, token] of tokens.entries()) {
		if (token === '{' || token === '[') open.push(token === '{' ? new Set() : undefined);
		else if (token === '}' || token === ']') open.pop();
		else if (token.startsWith('"')) {
			const content = JSON.parse(token) as string;
			if (/\p{Surrogate}/u.test(content)) return false;
			if (tokens[index + 1] !== ':') continue;
			if (open.at(-1)?.has(content)) return false;
			open.at(-1)?.add(content);
		}
	}
	return true;
}

/** Texts where writing the value again could hide something. */
const SHORT_TEXTS = [
	'{"id":1,"id":2}',
	'{"id":1,"id":1}',
	'{"id":9007199254740993}',
	'{"id":9007199254740994}',
	'{"id":1e21}',
	'{"id":1e+21}',
	'{"id":-0}',
	'{"id":1.0}',
	'{"id":1.5}',
	'{"2":1,"1":2}',
	'{"__proto__":1,"__proto__":2}',
	'{"__proto__":{"id":3}}',
	String.raw`{"a":"\ud800"}`,
	String.raw`{"a":"\udc00\ud800"}`,
	String.raw`{"\udfff":1}`,
	String.raw`{"a":"\ud83d\ude00"}`,
	String.raw`{"a":"\uD800"}`,
	String.raw`{"a":"\\ud800"}`,
	'{"a":"\ud800"}',
	'"\u2028"',
	'[{"id":3}]',
	'7',
	'null',
	'',
];
const SHORT_PIECES = [
	'{',
	'}',
	'[',
	']',
	',',
	':',
	'"a"',
	'"id"',
	'1',
	'-1',
	'0',
	'-0',
	'null',
	'""',
	'9007199254740993',
];

/** The value of a node; of members with the same name the last counts. */
function toPlain(value: Node): unknown {
	if (Array.isArray(value)) return value.map(toPlain);
	if (typeof value !== 'object' || value === null) return value;
	return Object.fromEntries(value.members.map(([name, member]) => [name, toPlain(member)]));
}

/** `accepted`, or the error message. */
function verdict(text: string): string {
	try {
		parseStrictJson(text);
		return 'accepted';
	} catch (error) {
		if (error instanceof StrictJsonError) return error.message;
		throw error;
	}
}

describe('what is accepted', () => {
	test('whatever has unique keys has the value that JSON.parse gives it, however it is written', () => {
		fc.assert(
			fc.property(node, writer, (value, write) => {
				const text = write(value);
				const {value: parsed, idText} = parseStrictJson(text);
				expect(parsed).toEqual(JSON.parse(text));
				expect(idText && Number(idText)).toBe(numericId(parsed));
			}),
			{numRuns: 500},
		);
	});

	test('a damaged text is accepted if and only if JSON.parse and a second opinion accept it', () => {
		const edits = fc.array(fc.tuple(fc.nat(), fc.nat(2), fc.constantFrom(...DAMAGE, '', '\\ud83d', '"a":1,')), {
			maxLength: 2,
		});
		fc.assert(
			fc.property(node, writer, edits, (value, write, damage) => {
				const symbols = Array.from(write(value));
				for (const [place, removed, added] of damage) symbols.splice(place % (symbols.length + 1), removed, added);
				const text = symbols.join('');
				let valid = true;
				try {
					JSON.parse(text);
				} catch {
					valid = false;
				}
				expect(verdict(text) === 'accepted').toBe(valid && isAcceptable(text));
			}),
			{numRuns: 1000},
		);
	});

	test('names of Object.prototype are ordinary keys', () => {
		const text = '{"__proto__":{"constructor":1},"constructor":2,"hasOwnProperty":3}';
		expect(Object.keys(parseStrictJson(text).value as object)).toEqual(['__proto__', 'constructor', 'hasOwnProperty']);
	});
});

describe('the round trip of short texts', () => {
	const compact = fc.oneof(
		node.map(value => JSON.stringify(toPlain(value))),
		fc.json({maxDepth: 3}),
		fc.array(fc.constantFrom(...SHORT_PIECES), {maxLength: 12}).map(pieces => pieces.join('')),
		fc.tuple(node, writer).map(([value, write]) => write(value)),
	);

	test('accepts nothing that the scan refuses, and gives the same value and id', () => {
		fc.assert(
			fc.property(compact, text => {
				const quick = parseByRoundTrip(text);
				expect(quick).toEqual(quick && parseByScan(text));
			}),
			{numRuns: 1500, examples: SHORT_TEXTS.map((text): [string] => [text])},
		);
	});

	test('is good for requests as clients write them', () => {
		const text = '{"id":7,"method":"fs/readFile","params":{"path":"file:///a/b","sandbox":null}}';
		expect(parseByRoundTrip(text)).toEqual({value: JSON.parse(text) as unknown, idText: '7'});
	});

	test('is not for the deepest text that is refused', () => {
		const deep = `${'['.repeat(MAX_JSON_DEPTH + 1)}${']'.repeat(MAX_JSON_DEPTH + 1)}`;
		expect(parseByRoundTrip(deep)).toBeUndefined();
		expect(parseByRoundTrip(deep.slice(1, -1))).toBeDefined();
	});
});

describe('duplicate keys', () => {
	test('a key that comes again is refused, at any level, in any place and however it is written', () => {
		fc.assert(
			fc.property(node, writer, fc.nat(), fc.nat(), fc.nat(), (value, write, which, first, second) => {
				const objects = objectsWithin(value).filter(({members}) => members.length > 0);
				const chosen = objects[which % objects.length];
				fc.pre(chosen !== undefined);
				const [name] = chosen.members[first % chosen.members.length] ?? [''];
				chosen.members.splice(second % (chosen.members.length + 1), 0, [name, null]);
				expect(verdict(write(value))).toBe(`duplicate JSON object key \`${name}\``);
				chosen.members.splice(second % chosen.members.length, 1);
			}),
			{numRuns: 1000},
		);
	});

	test.each([
		['{"method":1,"method":2}', 'method'],
		['{"a":{"b":1,"\\u0062":2}}', 'b'],
		['[{"a":1},{"a":1,"a":1}]', 'a'],
		['{"a":[{"a":{}}],"a":{}}', 'a'],
		['{"":0,"":0}', ''],
		['{"\\/":0,"/":0}', '/'],
		['{"\\ud83e\\uddbe":0,"\u{1F9BE}":0}', '\u{1F9BE}'],
	])('%s is refused', (text, name) => {
		expect(verdict(text)).toBe(`duplicate JSON object key \`${name}\``);
	});

	test('the same key in different objects is fine', () => {
		expect(verdict('{"a":{"a":[{"a":1},{"a":2}]},"b":{"a":3}}')).toBe('accepted');
	});

	test.each([2, 7, 8, 9, 10, 100, 130_000])('among %i keys the first and the last may not be the same', count => {
		const members = Array.from({length: count - 1}, (_, index) => `"key ${index}":{"key 0":0}`);
		expect(verdict(`{${members.join(',')}}`)).toBe('accepted');
		expect(verdict(`{${members.join(',')},"key 0":0}`)).toBe('duplicate JSON object key `key 0`');
		expect(verdict(`{${members.join(',')},"ke\\u0079 ${count - 2}":0}`)).toBe(
			`duplicate JSON object key \`key ${count - 2}\``,
		);
	});
});

describe('bounds', () => {
	test.each([
		['numbers in an array', (count: number) => `[${'0,'.repeat(count - 2)}0]`],
		['empty arrays', (count: number) => `[${'[],'.repeat(count - 2)}[]]`],
		['strings in arrays', (count: number) => `[${'"",'.repeat(count - 2)}true]`],
		['objects, whose keys do not count', (count: number) => `[${'{"k":{}},'.repeat((count - 2) / 2)}{}]`],
	])('as many values as the limit pass, one more does not: %s', (_, textWith) => {
		expect(verdict(textWith(MAX_JSON_VALUES))).toBe('accepted');
		expect(verdict(`[${textWith(MAX_JSON_VALUES)}]`)).toBe('JSON-RPC message exceeds the limit of 262144 JSON values');
	});

	test.each([
		['arrays', '[', ']'],
		['objects', '{"a":', '}'],
	])('as many nested %s as the limit pass, one more does not', (_, open, close) => {
		const nested = (depth: number) => open.repeat(depth) + (open === '[' ? '' : '0') + close.repeat(depth);
		expect(verdict(nested(MAX_JSON_DEPTH))).toBe('accepted');
		expect(verdict(nested(MAX_JSON_DEPTH + 1))).toBe('recursion limit exceeded');
	});

	test('126 arrays inside params pass, 127 do not', () => {
		const verdicts = [126, 127].map(depth => verdict(`{"id":1,"params":${'['.repeat(depth)}${']'.repeat(depth)}}`));
		expect(verdicts).toEqual(['accepted', 'recursion limit exceeded']);
	});

	test.each([5_000, 1_000_000])('%i levels do not overflow the stack', depth => {
		expect(verdict('['.repeat(depth) + ']'.repeat(depth))).toBe('recursion limit exceeded');
		expect(verdict('{"a":'.repeat(depth))).toBe('recursion limit exceeded');
	});

	test('depth is that of nesting, not the number of containers', () => {
		expect(verdict(`[${'[{"a":[]}],'.repeat(1000)}0]`)).toBe('accepted');
	});

	test('a few long keys pass, many do not', () => {
		const members = Array.from({length: MAX_LONG_JSON_KEYS + 1}, (_, index) => {
			return `"${String(index).padStart(MIN_LONG_JSON_KEY_CHARS, 'k')}":0`;
		});
		expect(verdict(`{${members.slice(1).join(',')}}`)).toBe('accepted');
		expect(verdict(`{${members.join(',')}}`)).toBe('JSON-RPC message exceeds the limit of 16 long object keys');
		expect(verdict(`{${members.join(',').replaceAll('kkk', 'kk')}}`)).toBe('accepted');
	});
});

describe('strings', () => {
	test('a string is accepted if and only if its escapes form whole surrogate pairs', () => {
		const units = fc.array(
			fc.constantFrom(0xd83e, 0xddbe, 0xd800, 0xdbff, 0xdc00, 0xdfff, 0x61, 0x22, 0x5c, 0xd7ff, 0xe000),
			{
				maxLength: 6,
			},
		);
		fc.assert(
			fc.property(units, fc.boolean(), (codes, asKey) => {
				const text = codes.map(code => `\\u${code.toString(16).padStart(4, '0')}`).join('');
				const whole = !/\p{Surrogate}/u.test(String.fromCharCode(...codes));
				expect(verdict(asKey ? `{"${text}":0}` : `["${text}"]`)).toBe(
					whole ? 'accepted' : 'lone surrogate in JSON string',
				);
			}),
			{numRuns: 1000},
		);
	});

	test.each([
		'"\\ud83e"',
		'"\\uddbe"',
		'"\\uDDBE\\uD83E"',
		'"\\ud83ex"',
		'"\\ud83e\\n"',
		'"\\ud83e\\u0061"',
		`"${'x'.repeat(500)}\\ud83e"`,
	])('%s is refused', text => {
		expect(verdict(text)).toBe('lone surrogate in JSON string');
		expect(verdict(`{${text}:0}`)).toBe('lone surrogate in JSON string');
	});

	test('a backslash before a u that is not an escape does not matter', () => {
		expect(parseStrictJson('"\\\\ud83e"').value).toBe('\\ud83e');
	});

	test.each([
		['quotes', '\\"'],
		['backslashes', '\\\\'],
		['escapes far apart', `\\n${'x'.repeat(200)}`],
		['unicode escapes', '\\u00e9'],
		['surrogate pairs', '\\ud83e\\uddbe'],
		['plain text', 'abcd'],
	])('a megabyte of %s is read to its end', (_, unit) => {
		const content = unit.repeat(Math.ceil(1_000_000 / unit.length));
		const text = `{"a":"${content}","b":["${content}"],"id":7}`;
		expect(parseStrictJson(text)).toEqual({value: JSON.parse(text) as unknown, idText: '7'});
		expect(verdict(`{"a":"${content}`)).not.toBe('accepted');
		expect(verdict(`{"a":"${content}","a":0}`)).toBe('duplicate JSON object key `a`');
	});
});

describe('the id', () => {
	test('every 64-bit id keeps its digits', () => {
		fc.assert(
			fc.property(fc.bigInt({min: -(2n ** 63n), max: 2n ** 63n - 1n}), fc.constantFrom('', ' ', '\n'), (id, space) => {
				expect(parseStrictJson(`{"method":"x","id"${space}:${space}${id}${space},"z":1}`).idText).toBe(String(id));
			}),
		);
	});

	test.each([
		['{"id":1.50}', '1.50'],
		['{"id":-0}', '-0'],
		['{"id":1E+2}', '1E+2'],
		['{"\\u0069d":12}', '12'],
		['{"a":{"id":1},"id":2,"b":[{"id":3}]}', '2'],
		['{"a":{},"id":18446744073709551616}', '18446744073709551616'],
		['{"id":"1"}', undefined],
		['{"id":null}', undefined],
		['{"id":[1]}', undefined],
		['{"id":{"id":1},"a":2}', undefined],
		['{"id":"","a":2}', undefined],
		['{"params":{"id":1}}', undefined],
		['[{"id":1}]', undefined],
		['[{"id":"x"},5]', undefined],
		['[{"id":{}},5]', undefined],
		['[1]', undefined],
		['1', undefined],
	])('of %s the text is %s', (text, expected) => {
		expect(parseStrictJson(text)).toEqual({value: JSON.parse(text) as unknown, idText: expected});
	});
});

describe('error texts', () => {
	test.each([
		'',
		' ',
		'x',
		'{',
		'[1',
		'"',
		'"\\',
		'"\\u12',
		'{"a"}',
		'{"a":}',
		'[1,]',
		'{"a":1,}',
		'{"\\x":1}',
		'1 2',
		'[]]',
		'{]',
		'\uFEFF{}',
		'{"a":1}{"b":2}',
	])('the text for %j is that of JSON.parse', text => {
		let expected = '';
		try {
			JSON.parse(text);
		} catch (error) {
			expected = (error as Error).message;
		}
		expect(verdict(text)).toBe(expected);
	});

	test('a quotation is short and can itself be sent as JSON', () => {
		for (const text of [
			`{"a":${'\u{1F9BE}'.repeat(1000)}`,
			`{"${'\u{1F9BE}'.repeat(1000)}":0,"${'\u{1F9BE}'.repeat(1000)}":0}`,
			`{"a${'\u{1F9BE}'.repeat(1000)}":0,"a${'\u{1F9BE}'.repeat(1000)}":0}`,
		]) {
			const message = verdict(text);
			expect(message.length).toBeLessThanOrEqual(MAX_JSON_ERROR_CHARS + 'duplicate JSON object key ``'.length);
			expect(message).not.toMatch(/\p{Surrogate}/u);
			expect(message).not.toBe('accepted');
		}
	});
});

function numericId(value: unknown): number | undefined {
	if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
	const id: unknown = Object.getOwnPropertyDescriptor(value, 'id')?.value;
	return typeof id === 'number' ? id : undefined;
}

function objectsWithin(value: Node): {members: [string, Node][]}[] {
	if (value === null || typeof value !== 'object') return [];
	if (Array.isArray(value)) return value.flatMap(objectsWithin);
	return [value, ...value.members.flatMap(([, member]) => objectsWithin(member))];
}
