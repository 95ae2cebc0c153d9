import {expect, test} from 'vitest';
import {
	findScheme,
	isServerUrl,
	isTransportTarget,
	LISTEN_FORMS,
	listenSchemeOf,
	parseListenAddress,
	schemeOf,
	splitUrlAndPath,
	type TransportTarget,
	URL_PREFIXES,
} from '../../../src/transports/node/registry.js';

const onStderr = (): void => {};

test('an address tells its scheme, a name has none', () => {
	const kinds = ['ws://h', 'wss://h', 'cmd:ssh h', 'devbox', 'WS://h', 'ws:h', 'http://h'].map(
		address => findScheme(address)?.kind,
	);
	expect(kinds).toEqual(['websocket', 'websocket', 'command', undefined, undefined, undefined, undefined]);
});

test('only addresses with an authority are URLs', () => {
	expect(URL_PREFIXES).toEqual(['ws://', 'wss://', 'registry+https://', 'registry+http://']);
	expect(['wss://h', 'cmd:true', 'x'].map(isServerUrl)).toEqual([true, false, false]);
	// The path of a socket names a server all the same.
	expect(isServerUrl('unix:/x')).toBe(true);
});

test.each([
	['ws://127.0.0.1:4500:/srv/a:b', {url: 'ws://127.0.0.1:4500', path: '/srv/a:b'}],
	['wss://[::1]/exec:rel', {url: 'wss://[::1]/exec', path: 'rel'}],
	['unix:/run/x.sock:/srv:a', {url: 'unix:/run/x.sock', path: '/srv:a'}],
	['unix:/run/x.sock', undefined],
	['ws://127.0.0.1:4500', undefined],
	['devbox:/srv', undefined],
])('%j is split into a URL and a path', (text, expected) => {
	expect(splitUrlAndPath(text)).toEqual(expected);
});

test('targets are parsed by their scheme, with the options it knows', () => {
	const options = {token: 'hunter2', connectTimeoutMs: 5, onStderr};
	expect(findScheme('ws://h')!.parseTarget('ws://h', options)).toEqual({
		kind: 'websocket',
		url: 'ws://h',
		token: 'hunter2',
		connectTimeoutMs: 5,
	});
	expect(findScheme('cmd:')!.parseTarget('cmd: ssh h ', options)).toEqual({
		kind: 'command',
		program: '/bin/sh',
		args: ['-c', 'ssh h'],
		onStderr,
	});
	expect(() => findScheme('cmd:')!.parseTarget('cmd: ', {})).toThrow('cmd: needs a command');
});

test('a target of the caller has no scheme', () => {
	expect(['websocket', 'command', 'transport', 'provisioned'].map(kind => isTransportTarget({kind}))).toEqual([
		true,
		true,
		false,
		false,
	]);
});

test.each<[TransportTarget, object, string]>([
	[
		{kind: 'websocket', url: 'wss://user:hunter2@h/?key=hunter2', token: 'hunter2'},
		{kind: 'websocket', url: 'wss://h/', hasToken: true},
		'wss://h/ (with a token)',
	],
	[
		{kind: 'unix', path: '/x', token: 'hunter2'},
		{kind: 'unix', url: 'unix:/x', hasToken: true},
		'unix:/x (with a token)',
	],
	[{kind: 'websocket', url: 'ws://h'}, {kind: 'websocket', url: 'ws://h', hasToken: false}, 'ws://h'],
	[
		{kind: 'command', program: 'ssh', args: ['h', "it's"], cwd: '/srv', env: {TOKEN: 'hunter2'}},
		{kind: 'command', program: 'ssh', args: ['h', "it's"], cwd: '/srv'},
		String.raw`ssh h 'it'\''s' (in /srv)`,
	],
])('a target is described without its secrets: %#', (target, members, text) => {
	expect(schemeOf(target).describe(target)).toEqual({members, text});
});

test('a listen address belongs to one scheme, which says what goes with it', () => {
	expect(LISTEN_FORMS).toEqual(['ws://IP:PORT', 'stdio']);
	const facts = ['ws://127.0.0.1:0', 'ws://0.0.0.0:0', 'wss://0.0.0.0:0', 'stdio'].map(text => {
		const address = parseListenAddress(text)!;
		const scheme = listenSchemeOf(address);
		return [
			scheme.startsServer,
			scheme.usesTls(address),
			scheme.isReadableByOthers(address),
			scheme.isOpenToOtherUsers(address),
		];
	});
	// Only Linux tells which user connects on loopback.
	const isLoopbackOpen = process.platform !== 'linux';
	expect(facts).toEqual([
		[false, false, false, isLoopbackOpen],
		[false, false, true, true],
		[false, true, false, true],
		[true, false, false, false],
	]);
	expect(parseListenAddress('nats://h')).toBeUndefined();
});

test.each(['unix:', 'unix:x.sock', 'unix:./x', 'unix:~/x', 'unix:/run/', `unix:/${'x'.repeat(107)}`])(
	'%j names no socket: not to connect to, not to listen on',
	address => {
		expect(() => findScheme(address)!.parseTarget(address, {})).toThrow('environment url `unix:');
		expect(() => parseListenAddress(address)).toThrow('invalid --listen address');
	},
);

test('a socket may be written with the slashes of a URL', () => {
	expect(parseListenAddress('unix:///run/x.sock')).toEqual({kind: 'unix', path: '/run/x.sock'});
	expect(findScheme('unix:///x')!.parseTarget('unix:///x', {token: 't'})).toMatchObject({path: '/x', token: 't'});
});
