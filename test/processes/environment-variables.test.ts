import * as fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {buildChildEnvironment, type EnvironmentRules} from '../../src/processes/environment-variables.js';

const EVERYTHING: EnvironmentRules = {
	inherit: 'all',
	ignoreDefaultExcludes: true,
	exclude: [],
	set: {},
	includeOnly: [],
};

function child(
	own: Record<string, string | undefined>,
	policy: Partial<EnvironmentRules> | undefined,
	env: Record<string, string> = {},
	platform: NodeJS.Platform = 'linux',
): Record<string, string> {
	return Object.fromEntries(buildChildEnvironment(env, policy && {...EVERYTHING, ...policy}, own, platform));
}

const PROTECTED = [
	'CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN',
	'NODE_REPL_AUTH_TOKEN',
	'OPENAI_FEDERATION_RULE_ID',
	'OPENAI_IDENTITY_TOKEN_FILE',
	'OPENAI_WORKLOAD_IDENTITY_CONTEXT',
	'CODEX_EXEC_SERVER_EXIT_ON_STDIN_CLOSE',
];

test('without a policy the child gets exactly what it was given, and nothing of ours', () => {
	expect(child({HOME: '/root', MY_KEY: 'ours'}, undefined, {A: '1', API_KEY: 'given'})).toEqual({
		A: '1',
		API_KEY: 'given',
	});
	expect(child({HOME: '/root'}, undefined)).toEqual({});
});

describe('inherit', () => {
	test('all is everything we have', () => {
		expect(child({A: '1', path: '/bin', gone: undefined}, {inherit: 'all'})).toEqual({A: '1', path: '/bin'});
	});

	test('none is nothing', () => {
		expect(child({A: '1', PATH: '/bin'}, {inherit: 'none'})).toEqual({});
	});

	test('core is a list of names, in any case', () => {
		const core = ['PATH', 'SHELL', 'TMPDIR', 'TEMP', 'TMP', 'HOME', 'LANG', 'LC_ALL', 'LC_CTYPE', 'LOGNAME', 'USER'];
		const own = Object.fromEntries(
			[...core, 'path', 'Home', 'EDITOR', 'PATHEXT', 'LC_TIME'].map(name => [name, `my ${name}`]),
		);
		const {EDITOR, PATHEXT, LC_TIME, ...expected} = own;
		expect(child(own, {inherit: 'core'})).toEqual(expected);
		expect([EDITOR, PATHEXT, LC_TIME]).not.toContain(undefined);
	});

	test('core on Windows is a list of its own, and a missing PATHEXT is added', () => {
		const names = ['PATH', 'SystemRoot', 'ProgramFiles(x86)', 'ProgramW6432', 'AppData', 'ComSpec', 'PWSH'];
		const own = Object.fromEntries(names.map(name => [name, `my ${name}`]));
		const withOthers = {...own, HOME: 'no', LANG: 'no', EDITOR: 'no'};
		expect(child(withOthers, {inherit: 'core'}, {}, 'win32')).toEqual({...own, PATHEXT: '.COM;.EXE;.BAT;.CMD'});
	});
});

describe('the steps of a policy', () => {
	const own = {PATH: '/bin', API_KEY: 'k', my_secret: 's', Tokens: 't', MONKEY: 'm', PLAIN: 'p'};

	test('names that look like secrets are dropped unless that is switched off', () => {
		expect(child(own, {ignoreDefaultExcludes: false})).toEqual({PATH: '/bin', PLAIN: 'p'});
		expect(child(own, {ignoreDefaultExcludes: true})).toEqual(own);
	});

	test('exclude drops what it matches, whole names in any case', () => {
		const {PLAIN, MONKEY, ...rest} = own;
		expect(child(own, {exclude: ['pl*n', 'm?nkey', 'PAT', 'ATH', '']})).toEqual(rest);
		expect([PLAIN, MONKEY]).toEqual(['p', 'm']);
	});

	test('set comes after the exclusions', () => {
		const policy = {
			ignoreDefaultExcludes: false,
			exclude: ['PLAIN'],
			set: {NEW_KEY: 'set', PLAIN: 'set', PATH: '/set'},
		};
		expect(child(own, policy)).toEqual({NEW_KEY: 'set', PLAIN: 'set', PATH: '/set'});
	});

	test('includeOnly filters what was set too, and an empty one filters nothing', () => {
		const policy = {set: {EXTRA: 'set', PLAINER: 'set'}};
		expect(child(own, {...policy, includeOnly: ['p*']})).toEqual({PATH: '/bin', PLAIN: 'p', PLAINER: 'set'});
		expect(child(own, {...policy, includeOnly: []})).toEqual({...own, EXTRA: 'set', PLAINER: 'set'});
	});

	test('env wins over everything and passes all patterns', () => {
		const policy = {ignoreDefaultExcludes: false, exclude: ['*'], set: {A: 'set'}, includeOnly: ['A']};
		expect(child(own, policy, {A: 'env', GIVEN_KEY: 'env'})).toEqual({A: 'env', GIVEN_KEY: 'env'});
	});

	test('PATHEXT is added on Windows only, after the filters, and only if there is none in any case', () => {
		const added = {PATHEXT: '.COM;.EXE;.BAT;.CMD'};
		expect(child({A: '1'}, {includeOnly: ['A']}, {}, 'win32')).toEqual({A: '1', ...added});
		expect(child({PathExt: '.PY'}, {}, {}, 'win32')).toEqual({PathExt: '.PY'});
		expect(child({A: '1'}, {}, {PATHEXT: '.PY'}, 'win32')).toEqual({A: '1', PATHEXT: '.PY'});
		expect(child({A: '1'}, undefined, {}, 'win32')).toEqual({});
		expect(child({A: '1'}, {}, {}, 'linux')).toEqual({A: '1'});
	});
});

test('protected names reach no child, wherever they come from and however they are spelled', () => {
	for (const name of [...PROTECTED, ...PROTECTED.map(each => each.toLowerCase())]) {
		const secret = {[name]: 'secret'};
		expect(child(secret, {})).toEqual({});
		expect(child({}, {set: secret})).toEqual({});
		expect(child({}, {includeOnly: [name]}, secret)).toEqual({});
		expect(child({}, undefined, {...secret, OTHER: 'stays'})).toEqual({OTHER: 'stays'});
	}
});

test('a name that means something to JavaScript is a name like any other', () => {
	const env = JSON.parse('{"__proto__":"a","constructor":"b"}') as Record<string, string>;
	expect([...buildChildEnvironment(env, {...EVERYTHING, set: env}, {}, 'linux')]).toEqual([
		['__proto__', 'a'],
		['constructor', 'b'],
	]);
});

/** The regular expression that says the same. */
function oracle(pattern: string): RegExp {
	const source = Array.from(pattern).map(
		each => ({'*': '.*', '?': '.'})[each] ?? each.replace(/[.()[\]\\^$+|{}/]/, '\\$&'),
	);
	return new RegExp(`^(?:${source.join('')})$`, 'isu');
}

describe('patterns', () => {
	test('are what the same regular expression matches', () => {
		const letters = ['a', 'A', 'b', 'B', '_', '.', '(', '[', '\\', '$', '^', '+', '|', '\n', 'é', 'É', '😀'];
		const name = fc.array(fc.constantFrom(...letters), {minLength: 1, maxLength: 10}).map(each => each.join(''));
		const pattern = fc
			.array(fc.oneof(fc.constantFrom('*', '?', '**', '*?'), fc.constantFrom(...letters)), {maxLength: 8})
			.map(each => each.join(''));
		// Patterns made of a name match often enough to make the property worth its while.
		const related = name.chain(each =>
			fc.tuple(
				fc.constant(each),
				fc.func(fc.constantFrom('*', '?', undefined)).map(f =>
					Array.from(each)
						.map(letter => f(letter) ?? letter)
						.join(''),
				),
			),
		);
		fc.assert(
			fc.property(fc.oneof(fc.tuple(name, pattern), related), ([each, tried]) => {
				const matched = oracle(tried).test(each);
				expect(child({[each]: 'x'}, {exclude: [tried]})).toEqual(matched ? {} : {[each]: 'x'});
				expect(child({[each]: 'x'}, {includeOnly: [tried]})).toEqual(matched ? {[each]: 'x'} : {});
			}),
			{numRuns: 1000},
		);
	});

	test('any of several is enough', () => {
		expect(child({A: '1', B: '2', C: '3'}, {exclude: ['x', 'a', 'c*']})).toEqual({B: '2'});
	});

	test('with many stars are decided without trying every way to match', () => {
		const name = 'a'.repeat(20_000);
		expect(child({[name]: 'x'}, {exclude: [`${'*a'.repeat(50)}b`]})).toEqual({[name]: 'x'});
	});
});
