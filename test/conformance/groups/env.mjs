// envPolicy: how the environment of a process is derived from the server's own.
// The runner starts every server with the CONF_* variables listed in lib/launch.mjs.
import {equal, isError, ok} from '../lib/check.mjs';
import {SERVER_ENV} from '../lib/launch.mjs';
import {command, run} from '../lib/proc.mjs';
import {group} from '../lib/suite.mjs';

const has = (env, ...names) => names.filter(name => name in env);
const fixtures = env =>
	Object.keys(env)
		.filter(name => /^conf_/i.test(name))
		.sort();

const policy = (changes = {}) => ({
	inherit: 'all',
	ignoreDefaultExcludes: false,
	exclude: [],
	set: {},
	includeOnly: [],
	...changes,
});

const permissive = changes => policy({ignoreDefaultExcludes: true, ...changes});

const entryOf = line => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)];

/** The environment that a process gets under a policy. */
async function environmentUnder(t, envPolicy, env = {}) {
	const {stdout} = await run(await t.open(), command(['/usr/bin/env', '-0'], {envPolicy, env}));
	return Object.fromEntries(stdout.split('\0').filter(Boolean).map(entryOf));
}

export const tests = group('env', ({core, current}) => {
	core('without a policy the environment is exactly env', async t => {
		equal(await environmentUnder(t, undefined, {ONE: '1'}), {ONE: '1'}, 'environment');
		equal(await environmentUnder(t, null, {ONE: '1'}), {ONE: '1'}, 'environment with a null policy');
	});

	core('inherit all passes the variables of the server on', async t => {
		const env = await environmentUnder(t, policy());
		equal(env.CONF_PLAIN, SERVER_ENV.CONF_PLAIN, 'CONF_PLAIN');
		ok(env.PATH, 'a PATH');
	});

	core('names with KEY, SECRET or TOKEN are left out, whatever their case', async t => {
		equal(fixtures(await environmentUnder(t, policy())), ['CONF_EMPTY', 'CONF_PLAIN'], 'fixtures');
	});

	core('ignoreDefaultExcludes lets them through', async t => {
		const env = await environmentUnder(t, permissive());
		equal(
			fixtures(env),
			['CONF_API_KEY', 'CONF_EMPTY', 'CONF_PLAIN', 'CONF_SECRET', 'CONF_TOKEN', 'conf_lower_token'],
			'fixtures',
		);
	});

	core('inherit core passes only the basic variables on', async t => {
		const env = await environmentUnder(t, policy({inherit: 'core'}));
		equal(env.LC_ALL, SERVER_ENV.LC_ALL, 'LC_ALL');
		ok(env.PATH, 'a PATH');
		const basic = ['PATH', 'SHELL', 'TMPDIR', 'TEMP', 'TMP', 'HOME', 'LANG', 'LC_ALL', 'LC_CTYPE', 'LOGNAME', 'USER'];
		equal(
			Object.keys(env).filter(name => !basic.includes(name.toUpperCase())),
			[],
			'other variables',
		);
	});

	core('inherit none starts from nothing', async t => {
		equal(await environmentUnder(t, policy({inherit: 'none'})), {}, 'environment');
	});

	core('exclude removes variables by pattern, whatever their case', async t => {
		equal(fixtures(await environmentUnder(t, permissive({exclude: ['CONF_*']}))), [], 'CONF_*');
		equal(
			fixtures(await environmentUnder(t, permissive({exclude: ['*plain', 'conf_empty', '*_TOKEN']}))),
			['CONF_API_KEY', 'CONF_SECRET'],
			'several',
		);
	});

	core('set adds and replaces variables after the excludes', async t => {
		const env = await environmentUnder(
			t,
			policy({exclude: ['CONF_*'], set: {CONF_PLAIN: 'new', MY_API_KEY: 'allowed'}}),
		);
		equal([env.CONF_PLAIN, env.MY_API_KEY], ['new', 'allowed'], '[CONF_PLAIN, MY_API_KEY]');
	});

	core('includeOnly keeps nothing but what it matches', async t => {
		equal(
			await environmentUnder(t, policy({includeOnly: ['CONF_P*']})),
			{CONF_PLAIN: SERVER_ENV.CONF_PLAIN},
			'environment',
		);
	});

	core('env is laid over the result of the policy', async t => {
		const env = await environmentUnder(t, policy({inherit: 'none', set: {A: 'policy', B: 'policy'}}), {
			B: 'overlay',
			C_TOKEN: 'overlay',
		});
		equal(env, {A: 'policy', B: 'overlay', C_TOKEN: 'overlay'}, 'environment');
	});

	core('an unknown inherit mode is invalid params', async t => {
		const peer = await t.open();
		for (const inherit of ['some', 'All', 5])
			isError(await peer.fail('process/start', command(['true'], {envPolicy: policy({inherit})})), -32602);
	});

	core('? in a pattern stands for one character', async t => {
		const env = await environmentUnder(t, permissive({exclude: ['CONF_PLAI?', 'CONF_?']}));
		equal(has(env, 'CONF_PLAIN', 'CONF_TOKEN'), ['CONF_TOKEN'], 'variables');
	});

	core('includeOnly also filters set', async t => {
		equal(
			await environmentUnder(t, permissive({inherit: 'none', set: {A: '1', B: '2'}, includeOnly: ['a']})),
			{A: '1'},
			'environment',
		);
	});

	core('a policy with a missing member is invalid params', async t => {
		const peer = await t.open();
		for (const key of ['inherit', 'ignoreDefaultExcludes', 'exclude', 'set', 'includeOnly']) {
			const {[key]: _, ...envPolicy} = permissive();
			isError(await peer.fail('process/start', command(['true'], {envPolicy})), -32602);
		}
	});

	current('credentials of the executor itself are never passed on', async t => {
		equal(has(await environmentUnder(t, permissive()), 'NODE_REPL_AUTH_TOKEN'), [], 'inherited');
		const set = {NODE_REPL_AUTH_TOKEN: '1', openai_identity_token_file: '2', CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN: '3'};
		equal(await environmentUnder(t, permissive({inherit: 'none', set})), {}, 'from set');
		equal(await environmentUnder(t, undefined, {OpenAI_Federation_Rule_Id: '1', KEPT: '2'}), {KEPT: '2'}, 'from env');
	});
});
