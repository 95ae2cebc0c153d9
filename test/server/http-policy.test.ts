import {promisify} from 'node:util';
import {expect, test} from 'vitest';
import {HttpPolicy} from '../../src/network/http/http-policy.js';
import {join, serving} from '../helpers/serving.js';
import {HttpClient, httpClient} from '../network/http-client.js';
import {origin} from '../network/origin.js';
import {proxy} from '../network/proxy.js';

const HINT =
	'Start that server with --allow-http any, or ask for a host with a public address if it has --allow-http public.';

function refusedFor(message: string, host?: string): unknown {
	const context = host === undefined ? {} : {host};
	return {code: -32_600, message, data: {code: 'HTTP_REFUSED', hint: HINT, context}};
}

const notPublic = (host: string): unknown =>
	refusedFor('this server makes HTTP requests to public addresses only', host);

test('a server may make no HTTP requests at all', async () => {
	const {url, sockets} = await origin();
	const http = await httpClient({allowHttp: 'none'});
	expect(await http.refusal(url)).toEqual(refusedFor('this server makes no HTTP requests'));
	expect(await http.refusal(url, {streamResponse: true})).toEqual(refusedFor('this server makes no HTTP requests'));
	expect(sockets).toEqual([]);
});

test.each([
	['127.0.0.1', '127.0.0.1'],
	['0x7f.1', '127.0.0.1'],
	['2130706433', '127.0.0.1'],
	['0', '0.0.0.0'],
	['localhost', 'localhost'],
	['LOCALHOST.', 'localhost.'],
	['any.localhost', 'any.localhost'],
	['[::1]', '::1'],
	['[::]', '::'],
	['[::ffff:127.0.0.1]', '::ffff:7f00:1'],
	['169.254.169.254', '169.254.169.254'],
	['[64:ff9b::169.254.169.254]', '64:ff9b::a9fe:a9fe'],
	['[2002:7f00:1::]', '2002:7f00:1::'],
])('with public addresses only, http://%s is refused without a connection', async (written, host) => {
	const {port, sockets} = await origin();
	const http = await httpClient({allowHttp: 'public'});
	expect(await http.refusal(`http://${written}:${port}`)).toEqual(notPublic(host));
	expect(await http.refusal(`https://${written}:${port}`)).toEqual(notPublic(host));
	expect(sockets).toEqual([]);
});

test('a name is judged by the addresses it stands for, and connected to no other', async () => {
	// An address written as a name is resolved like one, by the same call that `connect` makes.
	const lookup = promisify<string, object, unknown>(new HttpPolicy('public').lookup as never);
	expect(await lookup('1.1.1.1', {all: true})).toEqual([{address: '1.1.1.1', family: 4}]);
	for (const address of ['127.0.0.1', '10.0.0.1', '169.254.169.254', '::ffff:127.0.0.1', '0.0.0.0']) {
		await expect(lookup(address, {all: true})).rejects.toMatchObject({code: 'HTTP_REFUSED'});
		await expect(lookup(address, {all: false})).rejects.toMatchObject({code: 'HTTP_REFUSED'});
	}
	const anywhere = promisify<string, object, unknown>(new HttpPolicy('any').lookup as never);
	expect(await anywhere('10.0.0.1', {all: true})).toEqual([{address: '10.0.0.1', family: 4}]);
});

test('every hop is judged, also one that a proxy was asked for', async () => {
	const {url: inner, sockets} = await origin();
	// The proxy answers for any name, as one that reaches the public network does.
	const {url: answerer} = await origin((_, response) => response.writeHead(302, {location: inner}).end());
	const variables = {http_proxy: answerer};
	const http = await httpClient({allowHttp: 'public', variables});
	expect(await http.refusal('http://public.example/')).toEqual(notPublic('127.0.0.1'));
	expect(sockets).toEqual([]);
});

test('behind a proxy literal addresses are judged, and names are left to the proxy', async () => {
	const {url, sockets} = await origin();
	const {port, asked} = await proxy();
	const variables = {http_proxy: `http://127.0.0.1:${port}`, https_proxy: `http://127.0.0.1:${port}`};
	const http = await httpClient({allowHttp: 'public', variables});
	expect(await http.refusal(url)).toEqual(notPublic('127.0.0.1'));
	expect(await http.refusal('https://10.0.0.1')).toEqual(notPublic('10.0.0.1'));
	expect(asked).toEqual([]);
	expect(sockets).toEqual([]);
});

test('no request reaches the server that makes it, by any name and with any rights', async () => {
	const server = await serving({variables: {}});
	const {client} = await join(server);
	const http = new HttpClient(client);
	const {port} = new URL(server.url);
	const {port: other} = await origin((_, response) =>
		response.writeHead(302, {location: `http://0:${port}/metrics`}).end(),
	);
	const itself = 'this server makes no HTTP requests to itself';
	for (const host of ['127.0.0.1', 'localhost', '0.0.0.0', '[::ffff:127.0.0.1]']) {
		expect(await http.refusal(`http://${host}:${port}/readyz`)).toMatchObject({message: itself});
	}
	expect(await http.refusal(`https://127.0.0.1:${port}/`)).toMatchObject({message: itself});
	expect(await http.refusal(`http://127.0.0.1:${other}/`)).toMatchObject({message: itself});
});
