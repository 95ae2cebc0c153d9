import * as fc from 'fast-check';
import {expect, test} from 'vitest';
import {METHODS, type MethodName, type Params} from '../../../src/protocol/methods/method-table.js';
import {decode} from '../../../src/protocol/wire/decode.js';
import {INVALID_PARAMS, RpcError} from '../../../src/protocol/wire/error-codes.js';

function params<M extends MethodName>(method: M, input: unknown): Params<M> {
	return decode(METHODS[method].params, input);
}

/** The words of the -32602; undefined if there is none. Any other failure is one of the test. */
function refusal(method: MethodName, input: unknown): string | undefined {
	try {
		params(method, input);
		return undefined;
	} catch (error) {
		if (error instanceof RpcError && error.code === INVALID_PARAMS) return error.message;
		throw error;
	}
}

const START = {processId: 'p', argv: ['a'], cwd: 'file:///tmp', env: {}, tty: false};
const POLICY = {inherit: 'all', ignoreDefaultExcludes: false, exclude: [], set: {}, includeOnly: []};

test('defaults are filled in, nulls of optional members are kept apart from values, unknown members are dropped', () => {
	const {cwd, ...rest} = params('process/start', {...START, arg0: null, pipeStdin: null, extra: 1});
	expect(cwd.href).toBe('file:///tmp');
	expect(rest).toEqual({
		processId: 'p',
		argv: ['a'],
		env: {},
		tty: false,
		arg0: null,
		pipeStdin: false,
		enforceManagedNetwork: false,
		prepared: false,
		acknowledged: false,
		durable: false,
	});
});

test('bytes come out of base64 exactly', () => {
	fc.assert(
		fc.property(fc.uint8Array({maxLength: 200}), bytes => {
			const chunk = Buffer.from(bytes).toString('base64');
			expect(Buffer.from(params('process/write', {processId: 'p', chunk, writeId: 'w'}).chunk)).toEqual(
				Buffer.from(bytes),
			);
		}),
	);
});

test('an array is taken member by member in the declared order', () => {
	expect(params('initialize', ['me'])).toEqual({clientName: 'me'});
	expect(params('initialize', ['me', 'session'])).toEqual({clientName: 'me', resumeSessionId: 'session'});
	expect(params('process/read', ['p', 3, null, 10])).toEqual({processId: 'p', afterSeq: 3, maxBytes: null, waitMs: 10});
	const {cwd, ...rest} = params('process/start', ['p', ['a'], 'file:///x', {A: 'b'}, null, true]);
	expect(cwd.href).toBe('file:///x');
	expect(rest).toMatchObject({processId: 'p', argv: ['a'], env: {A: 'b'}, tty: true, pipeStdin: false});
});

test('an array of params means the same as the object with these members', () => {
	const read = fc.tuple(fc.string(), fc.option(fc.nat()), fc.option(fc.nat()), fc.option(fc.nat()));
	fc.assert(
		fc.property(read, ([processId, afterSeq, maxBytes, waitMs]) => {
			const byName = params('process/read', {processId, afterSeq, maxBytes, waitMs});
			expect(params('process/read', [processId, afterSeq, maxBytes, waitMs])).toEqual(byName);
		}),
	);
});

test.each([
	['too short', []],
	['too long', ['me', null, 'more']],
	['of the wrong types', [5]],
])('an array that is %s is refused', (_, input) => {
	expect(refusal('initialize', input)).toMatch(/\S/);
});

test.each<[MethodName, unknown, string]>([
	['initialize', {}, 'missing field `clientName`'],
	['process/start', {...START, argv: undefined}, 'missing field `argv`'],
	['process/start', {...START, cwd: undefined}, 'missing field `cwd`'],
	['process/start', {...START, env: undefined}, 'missing field `env`'],
	['process/start', {...START, tty: undefined}, 'missing field `tty`'],
	[
		'process/start',
		{...START, envPolicy: {...POLICY, includeOnly: undefined}},
		'missing field `envPolicy.includeOnly`',
	],
	['process/signal', {processId: 'p'}, 'missing field `signal`'],
])('%s without a member: %s', (method, input, message) => {
	expect(refusal(method, JSON.parse(JSON.stringify(input)))).toBe(message);
});

test.each<[MethodName, unknown, RegExp]>([
	['initialize', null, /^invalid type: null, expected a map$/],
	['initialize', 'x', /^invalid type: string, expected a map$/],
	['initialize', {clientName: 5}, /^invalid type: number, expected a string at `clientName`$/],
	['initialize', {clientName: null}, /^invalid type: null, expected a string at `clientName`$/],
	['initialize', {clientName: {}}, /^invalid type: map, expected a string at `clientName`$/],
	['initialize', {clientName: []}, /^invalid type: sequence, expected a string at `clientName`$/],
	['process/start', {...START, argv: 'a'}, /^invalid type: string, expected a sequence at `argv`$/],
	['process/start', {...START, argv: ['a', 1]}, /^invalid type: number, expected a string at `argv\.1`$/],
	['process/start', {...START, tty: 'yes'}, /^invalid type: string, expected a boolean at `tty`$/],
	['process/start', {...START, env: {A: 1}}, /^invalid type, expected a map of strings at `env`$/],
	['process/start', {...START, env: []}, /^invalid type, expected a map of strings at `env`$/],
	['process/start', {...START, env: null}, /^invalid type, expected a map of strings at `env`$/],
	['process/start', {...START, cwd: 'tmp'}, /^invalid URI: relative URL without a base/],
	['process/start', {...START, cwd: 'http://x/'}, /^unsupported path URI scheme `http`/],
	['process/read', {processId: 'p', afterSeq: -1}, /^invalid number, expected an unsigned integer at `afterSeq`$/],
	['process/read', {processId: 'p', waitMs: 0.5}, /^invalid number, expected an unsigned integer at `waitMs`$/],
	['process/read', {processId: 'p', maxBytes: '1'}, /^invalid type: string, expected a number at `maxBytes`$/],
	['process/write', {processId: 'p', chunk: '!!!'}, /^Invalid symbol 33, offset 0\./],
	['process/write', {processId: 'p', chunk: 'eA'}, /^Invalid padding/],
])('%s with %j says what is wrong', (method, input, message) => {
	expect(refusal(method, input)).toMatch(message);
});

test('an unknown variant is named together with the known ones', () => {
	expect(refusal('process/start', {...START, envPolicy: {...POLICY, inherit: 'some'}})).toBe(
		'unknown variant `some`, expected one of `core`, `all`, `none` at `envPolicy.inherit`',
	);
	expect(refusal('process/signal', {processId: 'p', signal: 'kill'})).toMatch(
		/^unknown variant `kill`, expected .*`interrupt`/,
	);
	expect(refusal('process/signal', {processId: 'p', signal: 'x'.repeat(1000)})).toMatch(/^unknown variant `x{64}`,/);
});

test('of several things wrong one is reported', () => {
	expect(refusal('process/start', {processId: 1, argv: 2})).toBe(
		'invalid type: number, expected a string at `processId`',
	);
});

test.each([undefined, null, {}])('a method without params takes %j', input => {
	expect(params('environment/status', input)).toEqual(input);
});

test.each([{a: 1}, [], [1], 'x', 0, false])('a method without params refuses %j', input => {
	expect(refusal('environment/info', input)).toBe('invalid type, expected no params');
});

test('variables may be called like members of every object', () => {
	const env = '{"constructor":"c","__proto__":"p","prototype":"t","hasOwnProperty":"h","toString":"s"}';
	const text = `{"processId":"p","argv":["a"],"cwd":"file:///tmp","env":${env},"tty":false,
		"envPolicy":{"inherit":"none","ignoreDefaultExcludes":true,"exclude":[],"set":${env},"includeOnly":[]}}`;
	const decoded = params('process/start', JSON.parse(text));
	expect(JSON.stringify(decoded.env)).toBe(env);
	expect(JSON.stringify(decoded.envPolicy?.set)).toBe(env);
	expect(Object.getPrototypeOf(decoded.env)).toBe(Object.prototype);
});

test('whatever JSON is given as params, a method decodes it or says in words why not', () => {
	const names = fc.constantFrom(...(Object.keys(METHODS) as MethodName[]));
	fc.assert(
		fc.property(names, fc.jsonValue(), (method, input) => {
			expect(refusal(method, input)).not.toBe('');
		}),
		{numRuns: 500},
	);
});
