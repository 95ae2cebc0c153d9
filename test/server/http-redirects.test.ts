import {expect, test} from 'vitest';
import {base64} from '../helpers/files.js';
import {eventually} from '../helpers/processes.js';
import {failed, httpClient, textOf, valuesOf} from '../network/http-client.js';
import {type Origin, origin} from '../network/origin.js';

/** Answers `/STATUS?URL` with a redirect there, everything else with its path. */
function redirecting(): Promise<Origin> {
	return origin((request, response) => {
		const [, status, location] = /^\/(3\d\d)\??(.*)$/.exec(request.url!) ?? [];
		if (!status) response.end(`at ${request.url}`);
		else response.writeHead(Number(status), location ? {location: decodeURIComponent(location)} : {}).end('moved');
	});
}

const to = (url: string): string => encodeURIComponent(url);

test.each([
	[301, 'POST', 'GET', ''],
	[302, 'POST', 'GET', ''],
	[303, 'POST', 'GET', ''],
	[303, 'PUT', 'GET', ''],
	[303, 'HEAD', 'HEAD', ''],
	[301, 'PUT', 'PUT', 'body'],
	[302, 'DELETE', 'DELETE', 'body'],
	[307, 'POST', 'POST', 'body'],
	[308, 'PATCH', 'PATCH', 'body'],
])('a %i after %s is followed with %s', async (status, method, next, body) => {
	const {url, seen} = await redirecting();
	const headers = [
		{name: 'content-type', value: 'text/plain'},
		{name: 'x-kept', value: 'yes'},
	];
	await (await httpClient()).request(`${url}/${status}?/final`, {method, headers, bodyBase64: base64('body')});
	const [, last] = seen;
	expect([last!.method, last!.url, last!.body]).toEqual([next, '/final', body]);
	expect(last!.headers).toMatchObject({'x-kept': 'yes', accept: '*/*', referer: `${url}/${status}?/final`});
	const about = [last!.headers['content-type'], last!.headers['content-length']];
	expect(about).toEqual(body ? ['text/plain', '4'] : [undefined, undefined]);
});

test('a redirect is the result itself when it is not to be followed', async () => {
	const {url, seen} = await redirecting();
	const response = await (await httpClient()).request(`${url}/302?/final`, {redirectPolicy: 'stop'});
	expect([response.status, valuesOf(response, 'location'), textOf(response)]).toEqual([302, ['/final'], 'moved']);
	expect(seen.length).toBe(1);
});

test.each(['/301', '/304?/final', '/300?/final', '/302?http%3A%2F%2F%5Bnonsense'])(
	'%s leads nowhere and is the result itself',
	async path => {
		const {url, seen} = await redirecting();
		expect((await (await httpClient()).request(url + path)).status).toBe(Number(path.slice(1, 4)));
		expect(seen.length).toBe(1);
	},
);

test('ten redirects are followed, the eleventh is an error', async () => {
	const {url, seen} = await origin((request, response) => {
		const left = Number(request.url!.slice(1));
		if (left === 0) response.end('there');
		else response.writeHead(302, {location: `/${left - 1}`}).end();
	});
	const http = await httpClient();
	expect(await http.text(`${url}/10`)).toBe('there');
	seen.length = 0;
	expect(await http.refusal(`${url}/11`)).toEqual(failed('http/request failed: too many redirects'));
	expect(seen.length).toBe(11);
});

test('another scheme is not followed', async () => {
	const {url} = await redirecting();
	const from = `${url}/302?${to('file:///etc/passwd')}`;
	expect(await (await httpClient()).refusal(from)).toEqual(
		failed(`http/request failed: error sending request for url (${from}): redirected to a URL with the scheme file`),
	);
});

const PRIVATE = ['authorization', 'cookie', 'proxy-authorization', 'www-authenticate'];
const headers = [...PRIVATE, 'x-other'].map(name => ({name, value: 'v'}));

test('what is meant for one host is not sent to another', async () => {
	const [first, second] = [await redirecting(), await redirecting()];
	const http = await httpClient();
	await http.request(`${first.url}/307?${to(`${second.url}/final`)}`, {
		headers: [...headers, {name: 'host', value: 'h'}],
	});
	expect(first.seen[0]!.headers).toMatchObject({authorization: 'v', host: 'h'});
	expect(Object.keys(second.seen[0]!.headers)).toEqual(['x-other', 'accept', 'referer', 'host']);
	expect(second.seen[0]!.headers.host).toBe(`127.0.0.1:${second.port}`);
	await http.request(`${first.url}/307?/final`, {headers: [...headers, {name: 'host', value: 'h'}]});
	const {headers: same} = first.seen.at(-1)!;
	for (const name of [...PRIVATE, 'x-other']) expect(same[name]).toBe('v');
	expect(same.host).toBe('h');
});

test('credentials of the first URL stay with its host and never show in the referer', async () => {
	const [first, second] = [await redirecting(), await redirecting()];
	const http = await httpClient();
	const withCredentials = first.url.replace('//', '//user:secret@');
	await http.request(`${withCredentials}/302?/same#part`);
	await http.request(`${withCredentials}/302?${to(second.url.replace('//', '//other:word@'))}`);
	expect(first.seen.map(each => each.headers.authorization)).toEqual(Array(3).fill(`Basic ${base64('user:secret')}`));
	expect(first.seen[1]!.headers.referer).toBe(`${first.url}/302?/same`);
	expect(second.seen[0]!.headers.authorization).toBe(`Basic ${base64('other:word')}`);
	expect(second.seen[0]!.headers.referer).not.toContain('secret');
});

test('the body of a redirect is not read without end', async () => {
	const {url, sockets} = await origin((request, response) => {
		if (request.url !== '/loop') return response.end('there');
		response.writeHead(302, {location: '/final'});
		const flood = (): void => {
			while (!response.destroyed && response.write(Buffer.alloc(65_536)));
		};
		response.on('drain', flood);
		flood();
	});
	expect(await (await httpClient()).text(`${url}/loop`)).toBe('there');
	await eventually(() => sockets[0]!.destroyed);
	expect(sockets[0]!.bytesWritten).toBeLessThan(32 * 1024 * 1024);
});
