import {writeFileSync} from 'node:fs';
import {join} from 'node:path';
import * as fc from 'fast-check';
import {expect, test} from 'vitest';
import {parseListenSetting} from '../../../../src/cli/commands/serve/serve-endpoint.js';
import {
	fileKeyOf,
	resolveSettings,
	SETTINGS,
	type SettingName,
	type SettingSources,
	variableOf,
} from '../../../../src/cli/commands/serve/serve-settings.js';
import {readSettingsFile} from '../../../../src/cli/commands/serve/settings-file.js';
import {DEFAULTS} from '../../../../src/server/options.js';
import {LongarmError} from '../../../../src/shared/errors.js';
import {scratchDirectory} from '../../../helpers/scratch.js';

function resolved({file, ...sources}: Partial<Omit<SettingSources, 'file'>> & {file?: string}) {
	return resolveSettings({
		flags: {},
		variables: {},
		file: file === undefined ? undefined : readSettingsFile(file),
		...sources,
	});
}

function settingsFile(text: string): string {
	const path = join(scratchDirectory(), 'settings.toml');
	writeFileSync(path, text);
	return path;
}

function refusal(act: () => unknown): string {
	try {
		act();
	} catch (error) {
		if (error instanceof LongarmError && error.code === 'SETTING_INVALID') return error.message;
		throw error;
	}
	throw new Error('accepted');
}

test('without any source every setting has its default, and those of the server are its own', () => {
	expect(resolved({})).toEqual(
		Object.fromEntries(Object.entries(SETTINGS).map(([name, {fallback}]) => [name, fallback])),
	);
	expect(resolved({})).toMatchObject({
		listen: 'auto',
		'dangerously-allow-unauthenticated-network': false,
		'detached-session': DEFAULTS.detachedSessionMs,
		'max-detached-sessions': DEFAULTS.maxDetachedSessions,
		'retain-bytes': DEFAULTS.retainBytes,
		'retain-chunks': DEFAULTS.retainChunks,
		'retain-closed': DEFAULTS.retainClosedMs,
		'shutdown-grace': DEFAULTS.shutdownGraceMs,
	});
});

test('a flag wins over a variable, a variable over the file, the file over the default', () => {
	const sources = fc.record({flag: fc.boolean(), variable: fc.boolean(), file: fc.boolean()});
	fc.assert(
		fc.property(sources, given => {
			const settings = resolved({
				flags: given.flag ? {'retain-bytes': '3KiB'} : {},
				variables: given.variable ? {LONGARM_RETAIN_BYTES: '2KiB'} : {},
				file: settingsFile(given.file ? 'retain_bytes = "1KiB"' : ''),
			});
			const expected = [given.flag && 3072, given.variable && 2048, given.file && 1024, DEFAULTS.retainBytes];
			expect(settings['retain-bytes']).toBe(expected.find(value => value !== false));
		}),
		{numRuns: 16},
	);
});

test('a value that is not used is not looked at', () => {
	const variables = {LONGARM_RETAIN_BYTES: 'nonsense'};
	expect(resolved({flags: {'retain-bytes': '1B'}, variables})['retain-bytes']).toBe(1);
});

test('every setting can be given in each of the three ways', () => {
	const values: Record<SettingName, [string, unknown]> = {
		listen: ['stdio', 'stdio'],
		remote: ['https://hub.example,http://127.0.0.1:8700', ['https://hub.example', 'http://127.0.0.1:8700']],
		'environment-id': ['devbox', 'devbox'],
		name: ['n', 'n'],
		'token-file': ['/tf', '/tf'],
		'registration-bearer-stdin': ['true', true],
		'executor-credential-stdin': ['true', true],
		'remote-transport': ['noise', 'noise'],
		'concurrent-requests': ['8', 8],
		'strict-config': ['true', true],
		'exit-on-stdin-close': ['true', true],
		'remote-ca-file': ['/x/ca.pem', '/x/ca.pem'],
		'remote-tls-fingerprint': ['sha256:00', 'sha256:00'],
		'key-file': ['/kf', '/kf'],
		'allow-harness-key': ['/ah', '/ah'],
		pool: ['gpu,big', ['gpu', 'big']],
		label: ['zone=a,disk=ssd', {zone: 'a', disk: 'ssd'}],
		slots: ['4', 4],
		'dangerously-allow-unauthenticated-network': ['true', true],
		'ws-auth': ['capability-token', 'capability-token'],
		'ws-token-file': ['/t', '/t'],
		'ws-token-sha256': ['ab', 'ab'],
		'ws-tokens-file': ['/ts', '/ts'],
		'ws-shared-secret-file': ['/s', '/s'],
		'ws-issuer': ['i', 'i'],
		'ws-audience': ['a', 'a'],
		'ws-max-clock-skew-seconds': ['0', 0],
		'tls-cert': ['/c', '/c'],
		'tls-key': ['/k', '/k'],
		'tls-self-signed': ['true', true],
		'allow-host': ['exec.example,devbox', ['exec.example', 'devbox']],
		'allow-origin': ['http://a.example,https://b.example:8443', ['http://a.example', 'https://b.example:8443']],
		'child-memory': ['1GiB', 1024 ** 3],
		'child-processes': ['200', 200],
		'child-files': ['1024', 1024],
		'child-file-size': ['1MiB', 1024 ** 2],
		'child-cpu': ['5m', 300_000],
		'child-nice': ['5', 5],
		'child-oom-score': ['700', 700],
		'children-memory': ['2GiB', 2 * 1024 ** 3],
		'children-processes': ['500', 500],
		'log-level': ['debug', 'debug'],
		'log-format': ['pretty', 'pretty'],
		'detached-session': ['5m', 300_000],
		'exit-idle': ['10m', 600_000],
		'ping-interval': ['5s', 5000],
		'peer-timeout': ['20s', 20_000],
		'stopped-peer': ['1h', 3_600_000],
		'max-detached-sessions': ['7', 7],
		'retain-bytes': ['1.5MiB', 1_572_864],
		protocol: ['v0', 'v0'],
		'retain-bytes-total': ['1GiB', 1_073_741_824],
		'max-processes': ['3', 3],
		'max-processes-per-session': ['2', 2],
		'max-connections': ['9', 9],
		console: ['true', true],
		'max-reply': ['80MiB', 80 * 1024 * 1024],
		'allow-direct-exec': ['false', false],
		'allow-prepared-exec': ['false', false],
		'allow-forward': ['loopback', 'loopback'],
		'retain-chunks': ['7', 7],
		'retain-closed': ['0', 0],
		'audit-log': ['/var/log/longarm-audit', '/var/log/longarm-audit'],
		'audit-arguments': ['true', true],
		'allow-http': ['public', 'public'],
		'http-env': ['MY_TOKEN, other', ['MY_TOKEN', 'other']],
		'sandbox-enforcer': ['bubblewrap', 'bubblewrap'],
		drain: ['10m', 600_000],
		'shutdown-grace': ['250ms', 250],
		state: ['/var/lib/longarm', '/var/lib/longarm'],
		'state-max-age': ['1h', 3_600_000],
		'state-max-size': ['1GiB', 1024 ** 3],
		'state-max-processes': ['5', 5],
	};
	const expected = Object.fromEntries(Object.entries(values).map(([name, [, value]]) => [name, value]));
	const texts = Object.entries(values).map(([name, [text]]) => [name, text] as const);
	expect(resolved({flags: Object.fromEntries(texts)})).toEqual(expected);
	expect(resolved({variables: Object.fromEntries(texts.map(([name, text]) => [variableOf(name), text]))})).toEqual(
		expected,
	);
	const lines = texts.map(([name, text]) => `${fileKeyOf(name)} = ${JSON.stringify(text)}`);
	expect(resolved({file: settingsFile(lines.join('\n'))})).toEqual(expected);
	expect([variableOf('retain-bytes'), fileKeyOf('retain-bytes')]).toEqual(['LONGARM_RETAIN_BYTES', 'retain_bytes']);
});

test('the file may hold bare numbers and booleans', () => {
	const file = settingsFile(
		'retain_bytes = 4096\nretain_chunks = 5\ndangerously_allow_unauthenticated_network = true\n',
	);
	expect(resolved({file})).toMatchObject({
		'retain-bytes': 4096,
		'retain-chunks': 5,
		'dangerously-allow-unauthenticated-network': true,
	});
});

test.each([
	[{flags: {'retain-chunks': '0'}}, '--retain-chunks: expected a positive whole number, got `0`'],
	[{flags: {'retain-chunks': '1.5'}}, '--retain-chunks: expected a positive whole number, got `1.5`'],
	[{flags: {'retain-bytes': '-1'}}, '--retain-bytes: expected a size such as 1048576, 512KiB or 8MiB, got `-1`'],
	[{flags: {'concurrent-requests': '0'}}, '--concurrent-requests: expected a positive whole number, got `0`'],
	[{flags: {'concurrent-requests': 'x'}}, '--concurrent-requests: expected a positive whole number, got `x`'],
	[
		{flags: {'remote-transport': 'direct'}},
		'--remote-transport: expected noise, because the transport `direct` of codex is not end-to-end encrypted and not supported, got `direct`',
	],
	[{flags: {'retain-closed': '30'}}, '--retain-closed: expected a time such as 500ms, 30s or 5m, got `30`'],
	[
		{flags: {'http-env': 'MY_TOKEN,OPENAI_API_KEY'}},
		'--http-env: expected `none`, or names of variables such as MY_TOKEN, separated by commas, none of them one that is never sent, got `MY_TOKEN,OPENAI_API_KEY`',
	],
	[
		{flags: {'http-env': 'MY_*'}},
		'--http-env: expected `none`, or names of variables such as MY_TOKEN, separated by commas, none of them one that is never sent, got `MY_*`',
	],
	[{flags: {'shutdown-grace': ''}}, '--shutdown-grace: expected a time such as 500ms, 30s or 5m, got ``'],
	[
		{variables: {LONGARM_DANGEROUSLY_ALLOW_UNAUTHENTICATED_NETWORK: 'maybe'}},
		'LONGARM_DANGEROUSLY_ALLOW_UNAUTHENTICATED_NETWORK: expected true or false, got `maybe`',
	],
	[{variables: {LONGARM_LOG_FORMAT: 'xml'}}, 'LONGARM_LOG_FORMAT: expected one of json, pretty, auto, got `xml`'],
])('%j is refused with its source named', (sources, message) => {
	expect(refusal(() => resolved(sources))).toBe(message);
});

test('what is wrong with the file is said with its path, and with line and column where it does not parse', () => {
	const unknown = settingsFile('listen = "stdio"\ncolour = "red"\n');
	expect(refusal(() => resolved({file: unknown}))).toBe(
		`${unknown}: unknown setting \`colour\`; known are ${Object.keys(SETTINGS).map(fileKeyOf).join(', ')}`,
	);
	const table = settingsFile('[listen]\nurl = "stdio"\n');
	expect(refusal(() => resolved({file: table}))).toBe(`${table}: setting \`listen\` takes a single value`);
	const value = settingsFile('retain_bytes = "many"');
	expect(refusal(() => resolved({file: value}))).toBe(
		`retain_bytes in ${value}: expected a size such as 1048576, 512KiB or 8MiB, got \`many\``,
	);
	const broken = settingsFile('listen = "stdio"\n\nretain_chunks 7\n');
	expect(refusal(() => resolved({file: broken}))).toMatch(
		new RegExp(`^cannot read settings from ${broken}:3:\\d+: \\S`),
	);
});

test.each([
	['stdio', {kind: 'stdio'}],
	['stdio://', {kind: 'stdio'}],
	['ws://127.0.0.1:0', {kind: 'websocket', tls: false, host: '127.0.0.1', port: 0}],
	['ws://127.0.0.1:4500/', {kind: 'websocket', tls: false, host: '127.0.0.1', port: 4500}],
	['ws://0.0.0.0:65535', {kind: 'websocket', tls: false, host: '0.0.0.0', port: 65_535}],
	['ws://[::1]:80', {kind: 'websocket', tls: false, host: '::1', port: 80}],
	['wss://[::1]:443', {kind: 'websocket', tls: true, host: '::1', port: 443}],
	['wss://10.0.0.1:0/', {kind: 'websocket', tls: true, host: '10.0.0.1', port: 0}],
	['ws://[::ffff:127.0.0.1]:1', {kind: 'websocket', tls: false, host: '::ffff:127.0.0.1', port: 1}],
])('%s is an address to listen on', (text, address) => {
	expect(parseListenSetting(text)).toEqual(address);
});

test.each(['http://127.0.0.1:80', 'wsss://127.0.0.1:80', '127.0.0.1:80', '', 'STDIO', 'stdio:', 'WS://127.0.0.1:80'])(
	'%j is not a kind of address that is listened on',
	text => {
		expect(refusal(() => parseListenSetting(text))).toBe(
			`unsupported --listen URL \`${text}\`; expected \`ws://IP:PORT\` or \`stdio\``,
		);
	},
);

test.each([
	'ws://',
	'ws://localhost:80',
	'ws://127.0.0.1',
	'ws://127.0.0.1:',
	'ws://127.0.0.1:65536',
	'ws://127.0.0.1:-1',
	'ws://127.0.0.1:80/path',
	'ws://127.0.0.1:80?query',
	'ws://127.0.0.1:80 ',
	'ws://256.0.0.1:80',
	'ws://127.1:80',
	'ws://::1:80',
	'ws://[127.0.0.1]:80x',
	'ws://[::1]',
	'ws://[fe80::1%25eth0]:80',
	'ws://user@127.0.0.1:80',
])('%s is no WebSocket address', text => {
	expect(refusal(() => parseListenSetting(text))).toBe(
		`invalid websocket --listen URL \`${text}\`; expected \`ws://IP:PORT\``,
	);
});

test('an invalid address with TLS is told with its own scheme', () => {
	expect(refusal(() => parseListenSetting('wss://localhost:80'))).toBe(
		'invalid websocket --listen URL `wss://localhost:80`; expected `wss://IP:PORT`',
	);
});
