import {gzipSync} from 'node:zlib';
import {expect, test} from 'vitest';
import {base64} from '../helpers/files.js';
import {join as joined, serving} from '../helpers/serving.js';
import {failed, HttpClient, httpClient, invalid, textOf, valuesOf} from '../network/http-client.js';
import {answering, origin, rawOrigin} from '../network/origin.js';

test('status, headers in order and with repeats, and body come back over a WebSocket', async () => {
	const response =
		'HTTP/1.1 418 Short\r\nX-Two: 2\r\nSet-Cookie: a=1\r\nX-One:\r\nset-cookie: b=2\r\ncontent-length: 5\r\n\r\nstout';
	const {url} = await rawOrigin(answering(response));
	const {client} = await joined(await serving({variables: {}}));
	expect(await new HttpClient(client).request(url)).toEqual({
		status: 418,
		headers: [
			{name: 'x-two', value: '2'},
			{name: 'set-cookie', value: 'a=1'},
			{name: 'x-one', value: ''},
			{name: 'set-cookie', value: 'b=2'},
			{name: 'content-length', value: '5'},
		],
		bodyBase64: base64('stout'),
	});
});

test('nothing is sent but what was given, accept, host and the length', async () => {
	const {url, port, seen} = await origin();
	const http = await httpClient();
	const headers = [
		{name: 'X-Test', value: 'one'},
		{name: 'x-other', value: 'ü\t'},
		{name: 'x-TEST', value: 'two'},
	];
	await http.request(`${url}/a/b?c=%20#fragment`, {method: 'PATCH', headers, bodyBase64: base64('body')});
	await http.request(url, {method: 'POST'});
	await http.request(url, {
		headers: [
			{name: 'Accept', value: 'a/b'},
			{name: 'Host', value: 'example.com'},
		],
	});
	const host = ['host', `127.0.0.1:${port}`];
	expect(seen.map(({method, url: path, rawHeaders, body}) => [method, path, rawHeaders, body])).toEqual([
		[
			'PATCH',
			'/a/b?c=%20',
			['x-test', 'one', 'x-test', 'two', 'x-other', 'Ã¼', 'accept', '*/*', ...host, 'content-length', '4'],
			'body',
		],
		['POST', '/', ['accept', '*/*', ...host], ''],
		['GET', '/', ['accept', 'a/b', 'host', 'example.com'], ''],
	]);
});

test.each(['HEAD', 'DELETE', 'PURGE', 'OPTIONS'])('%s is sent as it is', async method => {
	const {url, seen} = await origin((_, response) => response.end(method === 'HEAD' ? undefined : 'done'));
	expect(await (await httpClient()).text(url, {method})).toBe(method === 'HEAD' ? '' : 'done');
	expect(seen.map(request => request.method)).toEqual([method]);
});

test('a method in small letters stays in small letters', async () => {
	let line = '';
	const {url} = await rawOrigin(socket => {
		socket.on('data', chunk => {
			line = chunk.toString().split('\r\n', 1)[0]!;
			socket.end('HTTP/1.1 204 No\r\n\r\n');
		});
	});
	expect((await (await httpClient()).request(`${url}/x`, {method: 'get'})).status).toBe(204);
	expect(line).toBe('get /x HTTP/1.1');
});

test('credentials of the URL become Basic authorization unless one is given, and are in no error', async () => {
	const {url, port, seen, server} = await origin();
	const http = await httpClient();
	const withCredentials = url.replace('//', '//us%40er:p%3Ass@');
	await http.request(withCredentials);
	await http.request(withCredentials, {headers: [{name: 'authorization', value: 'Own'}]});
	expect(seen.map(({headers}) => headers.authorization)).toEqual([`Basic ${base64('us@er:p:ss')}`, 'Own']);
	server.close();
	server.closeAllConnections();
	expect(await http.refusal(`${withCredentials}/#x`)).toEqual(
		failed(`http/request failed: error sending request for url (${url}/): connect ECONNREFUSED 127.0.0.1:${port}`),
	);
});

test('headers about the connection are ours', async () => {
	const {url, seen} = await origin();
	const given = {
		'Transfer-Encoding': 'chunked',
		'Keep-Alive': 'timeout=5',
		Upgrade: 'websocket',
		Connection: 'upgrade',
		Expect: '100-continue',
		Trailer: 'x',
		'Content-Length': '99',
	};
	const headers = Object.entries(given).map(([name, value]) => ({name, value}));
	const http = await httpClient();
	await http.request(url, {method: 'POST', headers, bodyBase64: base64('abc')});
	await http.request(url, {method: 'POST', headers: [{name: 'content-length', value: '0'}]});
	await http.request(url, {headers: [{name: 'connection', value: 'close'}]});
	const told = seen.map(({rawHeaders, body}) => [rawHeaders.filter((_, index) => index % 2 === 0).sort(), body]);
	expect(told).toEqual([
		[['accept', 'content-length', 'host'], 'abc'],
		[['accept', 'content-length', 'host'], ''],
		[['accept', 'connection', 'host'], ''],
	]);
	expect(seen.map(each => each.headers['content-length'])).toEqual(['3', '0', undefined]);
});

test('a compressed body and a header that is not visible ASCII: the one is left alone, the other left out', async () => {
	const zipped = gzipSync('zipped');
	const {url} = await origin((_, response) => {
		response.writeHead(200, {'content-encoding': 'gzip', 'x-odd': 'caf\xe9', 'x-tab': 'a\tb'}).end(zipped);
	});
	const response = await (await httpClient()).request(url);
	expect(Buffer.from(response.bodyBase64, 'base64').equals(zipped)).toBe(true);
	expect([valuesOf(response, 'content-encoding'), valuesOf(response, 'x-odd')]).toEqual([['gzip'], []]);
	expect(valuesOf(response, 'x-tab')).toEqual(['a\tb']);
});

test('preliminary responses are passed over', async () => {
	const early = 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n';
	const {url} = await rawOrigin(answering(`${early}${early}HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok`));
	const response = await (await httpClient()).request(url);
	expect([response.status, textOf(response), response.headers.length]).toEqual([200, 'ok', 1]);
});

test.each([
	[{method: 'BAD METHOD', url: 'nonsense'}, 'http/request method is invalid: invalid HTTP method'],
	[{method: ''}, 'http/request method is invalid: invalid HTTP method'],
	[{method: 'CONNECT'}, 'http/request method is invalid: CONNECT has no response to return'],
	[{url: 'user:secret@host'}, 'http/request only supports http and https URLs, got user'],
	[{url: '//user:secret@host'}, 'http/request url is invalid: not an absolute URL'],
	[{url: 'ftp://127.0.0.1/'}, 'http/request only supports http and https URLs, got ftp'],
	[{headers: [{name: 'a b', value: ''}]}, 'http/request header name is invalid: invalid HTTP header name'],
	[{headers: [{name: '', value: ''}]}, 'http/request header name is invalid: invalid HTTP header name'],
	[{headers: [{name: 'x', value: 'a\nb'}]}, 'http/request header value is invalid for x: failed to parse header value'],
	[
		{
			headers: [
				{name: 'host', value: 'a'},
				{name: 'Host', value: 'b'},
			],
		},
		'http/request header value is invalid for host: given more than once',
	],
])('%j is refused before anything is sent', async (extra, message) => {
	const {url, sockets} = await origin();
	expect(await (await httpClient()).refusal(url, extra)).toEqual(invalid(message));
	expect(sockets).toEqual([]);
});

const VARIABLES = {MY_TOKEN: 'token', EMPTY: '', BROKEN: 'a\nb', OPENAI_API_KEY: 'k', node_repl_auth_token: 'fine'};

const NOT_NAMED =
	'http/request header auth cannot use executor environment variable MY_TOKEN: it is not among those that --http-env of the server names';

const ALLOWED = {variables: VARIABLES, httpVariables: [...Object.keys(VARIABLES), 'NONE', 'constructor']};

test('a header takes the rest of its value from a variable of the executor', async () => {
	const {url, seen} = await origin();
	const http = await httpClient(ALLOWED);
	const headers = [
		{name: 'authorization', value: 'Bearer ', valueEnvVar: 'MY_TOKEN'},
		{name: 'x-repl', value: '', valueEnvVar: 'node_repl_auth_token'},
		{name: 'x-plain', value: 'plain', valueEnvVar: null},
	];
	await http.request(url, {headers});
	expect(seen[0]!.headers).toMatchObject({authorization: 'Bearer token', 'x-repl': 'fine', 'x-plain': 'plain'});
});

test.each([
	['NONE', 'requires executor environment variable NONE'],
	['constructor', 'requires executor environment variable constructor'],
	['EMPTY', 'requires a non-empty executor environment variable EMPTY'],
	['OPENAI_API_KEY', 'cannot use executor environment variable OPENAI_API_KEY'],
	['aws_Session_Token', 'cannot use executor environment variable aws_Session_Token'],
	['CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN', 'cannot use executor environment variable CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN'],
])('the variable %s is refused', async (valueEnvVar, reason) => {
	const {url, sockets} = await origin();
	const http = await httpClient(ALLOWED);
	const headers = [{name: 'auth', value: '', valueEnvVar}];
	expect(await http.refusal(url, {headers})).toEqual(invalid(`http/request header auth ${reason}`));
	expect(sockets).toEqual([]);
});

test('a client that may start processes has any variable sent unless the server names some', async () => {
	const {url, seen} = await origin();
	const http = await httpClient({variables: VARIABLES});
	await http.request(url, {headers: [{name: 'auth', value: '', valueEnvVar: 'MY_TOKEN'}]});
	expect(seen[0]!.headers).toMatchObject({auth: 'token'});
});

test('a token that may not start processes has no variable sent, and learns so', async () => {
	const {url, sockets} = await origin();
	const http = await httpClient({variables: VARIABLES}, {name: 'web', scopes: ['http', 'observe']});
	const headers = [{name: 'auth', value: '', valueEnvVar: 'MY_TOKEN'}];
	expect(await http.refusal(url, {headers})).toEqual(invalid(NOT_NAMED));
	expect(await http.client.call('environment/info')).toMatchObject({capabilities: {httpHeaderEnvVars: false}});
	expect(sockets).toEqual([]);
});

test('no variable is sent that the server does not name, and a client learns whether there is one', async () => {
	const {url, sockets} = await origin();
	const headers = [{name: 'auth', value: '', valueEnvVar: 'MY_TOKEN'}];
	for (const httpVariables of [[], ['EMPTY', 'my_token']]) {
		const http = await httpClient({variables: VARIABLES, httpVariables});
		expect(await http.refusal(url, {headers})).toEqual(invalid(NOT_NAMED));
		expect(await http.client.call('environment/info')).toMatchObject({
			capabilities: {httpHeaderEnvVars: httpVariables.length > 0},
		});
	}
	expect(sockets).toEqual([]);
});

test('a variable that is no header value is not shown', async () => {
	const http = await httpClient(ALLOWED);
	const headers = [{name: 'auth', value: '', valueEnvVar: 'BROKEN'}];
	expect(await http.refusal('http://127.0.0.1:1', {headers})).toEqual(
		invalid('http/request header value is invalid for auth: failed to parse header value'),
	);
});

test('names go out in lower case and given order, repeats as lines of their own, cookies too, host and length last', async () => {
	let sent = '';
	const {url, port} = await rawOrigin(socket => {
		socket.on('data', chunk => {
			sent += chunk.toString('latin1');
			if (sent.endsWith('abc')) socket.end('HTTP/1.1 204 No\r\n\r\n');
		});
	});
	const given = [
		['X-One', '1'],
		['Cookie', 'a=1'],
		['X-Two', '2'],
		['cookie', 'b=2'],
		['x-one', '11'],
	];
	const headers = given.map(([name, value]) => ({name, value}));
	await (await httpClient()).request(`${url}/p?q#f`, {method: 'POST', headers, bodyBase64: base64('abc')});
	const lines = ['x-one: 1', 'x-one: 11', 'cookie: a=1', 'cookie: b=2', 'x-two: 2', 'accept: */*'];
	const head = ['POST /p?q HTTP/1.1', ...lines, `host: 127.0.0.1:${port}`, 'content-length: 3'];
	expect(sent).toBe(`${head.join('\r\n')}\r\n\r\nabc`);
});
