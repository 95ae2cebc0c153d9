import {expect, test} from 'vitest';
import type {Hop} from '../../../src/network/http/http-request.js';
import {nextHop} from '../../../src/network/http/redirects.js';

function hop(url: string, headers: Hop['headers'] = []): Hop {
	return {method: 'GET', url: new URL(url), headers, body: undefined};
}

function follow(from: Hop, location: string): Hop | undefined {
	return nextHop(from, {statusCode: 302, headers: {location}});
}

test.each([
	['http://a.test/x', 'https://b.test/y', ['http://a.test/x']],
	['https://a.test/x', 'https://b.test/y', ['https://a.test/x']],
	['http://a.test/x', 'http://b.test/y', ['http://a.test/x']],
	['https://a.test/x', 'http://b.test/y', []],
])(
	'a redirect from %s to %s is followed; the referer never leaves an encrypted connection for an open one',
	(from, to, referers) => {
		const next = follow(hop(from, [['referer', 'https://secret.test/']]), to)!;
		expect(next.url.href).toBe(to);
		expect(next.headers.filter(([name]) => name === 'referer').map(([, value]) => value)).toEqual(referers);
	},
);

const CREDENTIALS = [
	'authorization',
	'cookie',
	'proxy-authorization',
	'x-api-key',
	'api-key',
	'apikey',
	'private-token',
	'x-auth-token',
	'x-amz-security-token',
	'x-goog-api-key',
	'x-from-a-variable',
];

test.each([
	['https://a.test/x', 'http://a.test/x'],
	['http://a.test/x', 'https://a.test/x'],
	['https://a.test:8443/x', 'http://a.test:8443/x'],
	['https://a.test/x', 'https://a.test:8443/x'],
	['https://a.test/x', 'https://b.test/x'],
	['https://a.test/x', 'https://user:word@b.test/x'],
])('no credentials are sent from %s to %s', (from, to) => {
	const headers = [...CREDENTIALS, 'accept'].map((name): [string, string] => [name, 'secret']);
	const next = follow({...hop(from, headers), secretHeaders: new Set(['x-from-a-variable'])}, to)!;
	expect(next.headers.filter(([, value]) => value === 'secret')).toEqual([['accept', 'secret']]);
	expect(next.url.username).toBe('');
});

test.each([
	['https://a.test/x', '/y'],
	['https://a.test/x', 'https://a.test:443/y'],
	['http://a.test/x', 'http://a.test:80/y'],
])('credentials stay within the origin from %s to %s', (from, to) => {
	const headers = CREDENTIALS.map((name): [string, string] => [name, 'secret']);
	const next = follow(hop(from, headers), to)!;
	expect(next.headers.filter(([, value]) => value === 'secret')).toHaveLength(CREDENTIALS.length);
});

test('a redirect to another scheme is refused by its name', () => {
	expect(() => follow(hop('https://a.test/'), 'file:///etc/passwd')).toThrow(/a URL with the scheme file/);
});
