// biome-ignore format: a list to read, not one line each
export const RAW_VALUES = [
	'1e999', '-1e999', '1e-999', '-0', '1.0', '1e3', '9007199254740993', '9223372036854775807', '-9223372036854775808',
	'9223372036854775808', '-9223372036854775809', '18446744073709551615', `1${'0'.repeat(400)}`, '01', '+1', '.5', '1.',
	'0x10', 'NaN', 'Infinity', 'undefined', "'x'", 'tru', '[1,]', '{"a":1,}', '/**/1', '"\\ud800"', '"\\udc00\\ud800"',
	'"\\ud83d\\ude00"', '"\\u0000"', '"\\/"', '"\t"', '"\\x"', '"\\u12"', '"a\u2028\u2029b"', '{"a":1,"a":2}',
	'{"a":{"b":[{"c":1,"\\u0063":2}]}}', '{"__proto__":1}', '{"__proto__":{"processId":"p1"}}', '{"length":3,"0":"x"}', '{"then":1}',
];

// biome-ignore format: a list to read, not one line each
export const VALUES = [
	null, true, false, 0, -1, 1, 1.5, -1.5, 255, 65_535, 65_536, 2 ** 31, 2 ** 32, 2 ** 53, 2 ** 63, 2 ** 64, 1e308, 5e-324,
	'', '0', 'null', 'true', ' ', '\0', 'a\0b', '\ufeff', '\u{1f980}', `${'a'.repeat(63)}\u{1f980}`, '\u202e\u0301', '!!!',
	'eA', 'eA==', 'eB==', 'e===', 'eA==eA==', '-_-_', '\u0141\u0141\u0141\u0141', [], {}, [[]], [null], [{}], ['x'], {a: 1},
	{name: 'TERM'}, {toString: 1, valueOf: 2}, {constructor: {prototype: {}}},
];

export function nested(random) {
	const depth = random.pick([5, 60, 124, 125, 126, 127, 128, 129, 200, 2000]);
	return random.chance(0.5)
		? '['.repeat(depth) + ']'.repeat(random.chance(0.9) ? depth : depth - 1)
		: `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
}

export const BAD_UTF8 = 'ff fe 80 c080 c1bf eda080 edbfbf f4908080 f8888080 e28c f09f efbbbf 00'.split(' ');
