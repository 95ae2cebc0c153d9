import {assert, constantFrom, domain, nat, property, string, stringMatching, tuple} from 'fast-check';
import {describe, expect, test} from 'vitest';
import {type Address, givenAddress, localAddress, parseAddress} from '../../../src/cli/common/address.js';

const named = (environment: string, path: string): Address => ({place: {kind: 'named', environment}, path});
const local = (path: string): Address => ({place: {kind: 'local'}, path});
const given = (path: string): Address => ({place: {kind: 'given'}, path});

test.each<[string, Address]>([
	['build:/srv', named('build', '/srv')],
	['build:', named('build', '')],
	['build:a:b', named('build', 'a:b')],
	['ws://127.0.0.1:4500:/srv/a:b', named('ws://127.0.0.1:4500', '/srv/a:b')],
	['ws://127.0.0.1:4500:rel', named('ws://127.0.0.1:4500', 'rel')],
	['ws://host:/srv', named('ws://host', '/srv')],
	['wss://host/exec:~/x', named('wss://host/exec', '~/x')],
	['wss://host:443/exec/a:', named('wss://host:443/exec/a', '')],
	['ws://[::1]:4500:/srv', named('ws://[::1]:4500', '/srv')],
	['unix:/run/x.sock:/srv', named('unix:/run/x.sock', '/srv')],
	['unix:/run/x.sock:', named('unix:/run/x.sock', '')],
	['unix:/run/x.sock:~/a:b', named('unix:/run/x.sock', '~/a:b')],
	['unix:///run/x.sock:/srv', named('unix:///run/x.sock', '/srv')],
	[':a', given('a')],
	[':', given('')],
	['local:a:b', local('a:b')],
	['a', local('a')],
	['./a:b', local('./a:b')],
	['/a:b', local('/a:b')],
	['dir/ws://x', local('dir/ws://x')],
])('%j is read as it is meant', (text, expected) => {
	expect(parseAddress(text)).toEqual(expected);
});

test.each([
	['ws://127.0.0.1:4500', 'has no path'],
	['wss://host', 'has no path'],
	['wss://', 'has no path'],
	['unix:/run/x.sock', 'has no path'],
	['cmd:ssh host:/x', 'give it with -e'],
	['', 'an empty path'],
])('%j is refused as misuse', (text, why) => {
	expect(() => parseAddress(text)).toThrow(expect.objectContaining({code: 'USAGE_WRONG'}) as Error);
	expect(() => parseAddress(text)).toThrow(why);
});

describe('for any text', () => {
	const path = string({unit: 'binary'});
	const name = stringMatching(/^[\w.-]+$/).filter(text => !['local', 'cmd', 'ws', 'wss', 'unix'].includes(text));

	test('a name, a colon and a path are just these', () => {
		assert(
			property(name, path, (environment, rest) => {
				expect(parseAddress(`${environment}:${rest}`)).toEqual(named(environment, rest));
			}),
		);
	});

	test('a URL with a port, a colon and a path are just these', () => {
		const url = tuple(constantFrom('ws', 'wss'), domain(), nat(65_535)).map(
			([scheme, host, port]) => `${scheme}://${host}:${port}`,
		);
		assert(
			property(url, path, (environment, rest) => {
				expect(parseAddress(`${environment}:${rest}`)).toEqual(named(environment, rest));
			}),
		);
	});

	test('a slash before the first colon makes it a path of this machine', () => {
		const before = string({unit: 'binary'}).filter(text => !text.includes(':'));
		assert(
			property(before, path, (start, rest) => {
				expect(parseAddress(`${start}/${rest}`)).toEqual(local(`${start}/${rest}`));
			}),
		);
	});

	test('a path that is known to be local or of the environment is not looked into', () => {
		assert(
			property(string({unit: 'binary', minLength: 1}), text => {
				expect([localAddress(text), givenAddress(text)]).toEqual([local(text), given(text)]);
			}),
		);
	});
});
