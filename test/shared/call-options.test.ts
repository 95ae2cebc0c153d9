import {expect, test} from 'vitest';
import {type OptionTable, readOptions, toMilliseconds} from '../../src/shared/call-options.js';
import type {Duration} from '../../src/shared/units.js';

interface Options {
	readonly timeout?: Duration | undefined;
	readonly graceMs?: number | undefined;
	readonly name?: string | undefined;
	readonly count?: number | undefined;
	readonly signal?: AbortSignal | undefined;
	readonly isOn?: boolean | undefined;
	readonly call?: (() => void) | undefined;
	readonly words?: readonly string[] | undefined;
}

const TABLE: OptionTable<Options> = {
	timeout: 'duration',
	graceMs: 'duration',
	name: 'text',
	count: 'count',
	signal: 'signal',
	isOn: 'flag',
	call: 'function',
	words: 'list',
};

const read = (options: unknown) => readOptions<Options>(options as Options, TABLE, 'work()');

test('durations are milliseconds or text with a unit, and nothing else', () => {
	expect(read({timeout: '1.5s', graceMs: '2m'})).toEqual({timeout: 1500, graceMs: 120_000});
	expect(read({timeout: 0, graceMs: Number.POSITIVE_INFINITY})).toMatchObject({timeout: 0});
	for (const timeout of ['5', '5 parsecs', '', -1, Number.NaN, true, null]) {
		expect(() => read({timeout})).toThrow(TypeError);
		expect(() => read({timeout})).toThrow(`option \`timeout\` of work() must be milliseconds`);
		expect(() => toMilliseconds(timeout as never, 'the time')).toThrow('the time must be milliseconds');
	}
	expect(toMilliseconds('250ms', 'the time')).toBe(250);
});

test('an unknown name is refused with the one that was meant, or with all there are', () => {
	expect(() => read({tiemout: 5})).toThrow('unknown option `tiemout` of work(); did you mean `timeout`?');
	expect(() => read({zzz: 5})).toThrow('unknown option `zzz` of work(); known are timeout, graceMs, name');
	expect(read({tiemout: undefined})).toEqual({tiemout: undefined});
});

test('values of another form are refused, and not shown', () => {
	const wrong = {name: 5, count: 1.5, signal: {}, isOn: 'yes', call: 'x', words: 'a b'};
	for (const [name, value] of Object.entries(wrong)) {
		expect(() => read({[name]: value})).toThrow(`option \`${name}\` of work() must be`);
	}
	expect(() => read({isOn: 'sesame'})).not.toThrow('sesame');
	expect(() => read('timeout')).toThrow('options of work() must be an object');
	expect(() => read(null)).toThrow('options of work() must be an object');
});

test('values of the right form are handed on as they are', () => {
	const options = {name: 'a', count: 3, signal: AbortSignal.timeout(1), isOn: false, call: () => {}, words: ['a']};
	expect(read(options)).toBe(options);
});
