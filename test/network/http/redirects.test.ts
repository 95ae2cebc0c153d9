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

test('a redirect to another scheme is refused by its name', () => {
	expect(() => follow(hop('https://a.test/'), 'file:///etc/passwd')).toThrow(/a URL with the scheme file/);
});
