// http/request: HTTP from the machine of the server, with a buffered or a streamed response body.
import {gzipSync} from 'node:zlib';
import {equal, isError, ok} from '../lib/check.mjs';
import {base64, bytes} from '../lib/proc.mjs';
import {group} from '../lib/suite.mjs';
import {eventually} from '../lib/time.mjs';

function route({url}, response) {
	const path = url.split('?')[0];
	if (path === '/redirect') response.writeHead(302, {location: '/final'}).end('redirect');
	else if (path === '/loop') response.writeHead(302, {location: '/loop'}).end();
	else if (path === '/teapot') response.writeHead(418, {'x-one': '1'}).end('short and stout');
	else if (path === '/cookies') response.writeHead(200, {'set-cookie': ['a=1', 'b=2']}).end();
	else if (path === '/chunks') {
		response.write('hello ');
		setImmediate(() => response.end('world'));
	} else if (path === '/hang') response.write('x');
	else if (path === '/broken') {
		response.writeHead(200, {'content-length': 100});
		response.write('part', () => response.destroy());
	} else response.end(`at ${path}`);
}

const bodyText = response => bytes(response.bodyBase64).toString();
const headerValues = (response, name) => response.headers.filter(h => h.name.toLowerCase() === name).map(h => h.value);

async function httpClient(t, handler = (_, response) => response.end('ok')) {
	const base = await t.http(handler);
	const peer = await t.open();
	let count = 0;
	const params = (path, extra) => ({method: 'GET', url: base + path, requestId: `r${++count}`, ...extra});
	return {
		peer,
		params,
		request: (path, extra) => peer.call('http/request', params(path, extra)),
		refuse: (path, extra) => peer.fail('http/request', params(path, extra)),
		stream: (path, requestId, extra) =>
			peer.call('http/request', params(path, {requestId, streamResponse: true, ...extra})),
		/** Every delta of a stream, once it has ended. */
		deltas: async requestId => {
			const all = () => peer.notes('http/request/bodyDelta').filter(d => d.requestId === requestId);
			await peer.until(() => all().some(d => d.done), `the end of stream ${requestId}`);
			return all();
		},
	};
}

const joined = deltas => Buffer.concat(deltas.map(d => bytes(d.deltaBase64)));

export const tests = group('http', ({core, current}) => {
	core('GET returns status, headers and body', async t => {
		const {request} = await httpClient(t, route);
		const response = await request('/teapot');
		equal(
			[response.status, headerValues(response, 'x-one'), bodyText(response)],
			[418, ['1'], 'short and stout'],
			'response',
		);
	});

	core('method, path, query, headers and body reach the server', async t => {
		const {request} = await httpClient(t, route);
		const headers = [
			{name: 'X-Test', value: 'one'},
			{name: 'x-test', value: 'two'},
		];
		await request('/post?a=1&b=%20', {method: 'POST', headers, bodyBase64: base64('the body')});
		const [seen] = t.seen;
		equal(
			[seen.method, seen.url, seen.headers['x-test'], seen.body],
			['POST', '/post?a=1&b=%20', ['one', 'two'], 'the body'],
			'request',
		);
	});

	core('a URL fragment is not sent', async t => {
		const {request} = await httpClient(t, route);
		await request('/page?q=1#section');
		equal(t.seen[0].url, '/page?q=1', 'url');
	});

	core('repeated response headers are all returned', async t => {
		const {request} = await httpClient(t, route);
		equal(headerValues(await request('/cookies'), 'set-cookie'), ['a=1', 'b=2'], 'set-cookie');
	});

	core('redirects are followed by default', async t => {
		const {request} = await httpClient(t, route);
		const response = await request('/redirect');
		equal([response.status, bodyText(response)], [200, 'at /final'], '[status, body]');
		equal((await request('/redirect', {redirectPolicy: 'follow'})).status, 200, 'status with follow');
	});

	core('redirectPolicy stop returns the redirect itself', async t => {
		const {request} = await httpClient(t, route);
		const response = await request('/redirect', {redirectPolicy: 'stop'});
		equal(
			[response.status, headerValues(response, 'location'), bodyText(response)],
			[302, ['/final'], 'redirect'],
			'response',
		);
		equal(t.seen.length, 1, 'number of requests');
	});

	core('a redirect loop is an internal error', async t => {
		isError(await (await httpClient(t, route)).refuse('/loop'), -32603, /^http\/request failed: /);
	});

	core('timeoutMs ends a request that takes too long', async t => {
		const held = [];
		const {params, refuse} = await httpClient(t, (_, response) => held.push(response));
		const patient = [];
		for (const extra of [{}, {timeoutMs: null}]) {
			const peer = await t.open();
			patient.push({peer, id: peer.post('http/request', params('/', extra))});
		}
		await eventually(() => held.length === 2, 'two requests without a timeout');
		isError(await refuse('/', {timeoutMs: 500}), -32603, /^http\/request failed: /);
		// Both have been waiting for longer than the one that timed out.
		for (const response of held) response.end('slow');
		for (const {peer, id} of patient) {
			const {result, error} = await peer.reply(id);
			equal([result && bodyText(result), error], ['slow', undefined], '[body, error]');
		}
	});

	core('a refused connection is an internal error', async t => {
		isError(
			await (await httpClient(t, route)).refuse('', {url: 'http://127.0.0.1:1/'}),
			-32603,
			/^http\/request failed: /,
		);
	});

	core('other schemes are invalid params', async t => {
		const {refuse} = await httpClient(t, route);
		isError(
			await refuse('', {url: 'ftp://127.0.0.1/'}),
			-32602,
			'http/request only supports http and https URLs, got ftp',
		);
		isError(
			await refuse('', {url: 'file:///etc/passwd'}),
			-32602,
			'http/request only supports http and https URLs, got file',
		);
	});

	core('an invalid URL, method or header is invalid params', async t => {
		const {refuse} = await httpClient(t, route);
		isError(await refuse('', {url: 'not a url'}), -32602, /^http\/request url is invalid/);
		isError(await refuse('/', {method: 'BAD METHOD'}), -32602, /^http\/request method is invalid/);
		isError(
			await refuse('/', {headers: [{name: 'bad name', value: 'x'}]}),
			-32602,
			/^http\/request header name is invalid/,
		);
		isError(
			await refuse('/', {headers: [{name: 'x', value: 'a\nb'}]}),
			-32602,
			/^http\/request header value is invalid for x/,
		);
		equal(t.seen, [], 'requests');
	});

	core('method, url and requestId are required', async t => {
		const {peer, params} = await httpClient(t, route);
		for (const key of ['method', 'url', 'requestId']) {
			const {[key]: _, ...incomplete} = params('/');
			isError(await peer.fail('http/request', incomplete), -32602);
		}
	});

	core('a streamed response answers with an empty body first', async t => {
		let finish;
		const {stream, peer, deltas} = await httpClient(t, (_, response) => {
			response.write('hello ');
			finish = () => response.end('world');
		});
		const response = await stream('/', 's');
		equal([response.status, response.bodyBase64], [200, ''], '[status, body]');
		finish();
		await deltas('s');
		const order =
			peer.inbox.findIndex(m => m.result?.status === 200) <
			peer.inbox.findIndex(m => m.method === 'http/request/bodyDelta');
		ok(order, 'the response before the first delta');
	});

	core('the deltas are numbered from 1 and end with done', async t => {
		const {stream, deltas} = await httpClient(t, route);
		await stream('/chunks', 's');
		const all = await deltas('s');
		equal(
			all.map(d => d.seq),
			all.map((_, i) => i + 1),
			'seqs',
		);
		equal(joined(all).toString(), 'hello world', 'body');
		equal(
			all.map(d => d.done),
			all.map((_, i) => i === all.length - 1),
			'done flags',
		);
		equal(all.at(-1).error, null, 'error');
	});

	core('a body that breaks off ends with an error', async t => {
		const {stream, deltas, refuse} = await httpClient(t, route);
		await stream('/broken', 's');
		const last = (await deltas('s')).at(-1);
		ok(last.done && last.error, 'a last delta with an error');
		isError(await refuse('/broken'), -32603);
	});

	core('an active stream id cannot be used twice', async t => {
		const {stream, peer, params} = await httpClient(t, route);
		await stream('/hang', 'busy');
		const error = await peer.fail('http/request', params('/', {requestId: 'busy', streamResponse: true}));
		isError(error, -32602, 'http/request streamResponse requestId `busy` is already active');
	});

	core('a stream id is free again once its stream has ended', async t => {
		const {stream, deltas, peer} = await httpClient(t, route);
		await stream('/first', 'again');
		await deltas('again');
		peer.inbox.length = 0;
		equal((await stream('/second', 'again')).status, 200, 'status');
		equal(joined(await deltas('again')).toString(), 'at /second', 'body');
	});

	current('a header can take its value from the environment of the server', async t => {
		const {request} = await httpClient(t, route);
		await request('/', {headers: [{name: 'authorization', value: 'Bearer ', valueEnvVar: 'CONF_TOKEN'}]});
		equal(t.seen[0].headers.authorization, ['Bearer token'], 'authorization');
	});

	current('a missing, empty or protected variable is invalid params', async t => {
		const {refuse} = await httpClient(t, route);
		const from = valueEnvVar => refuse('/', {headers: [{name: 'auth', value: '', valueEnvVar}]});
		isError(
			await from('CONF_NONE'),
			-32602,
			'http/request header auth requires executor environment variable CONF_NONE',
		);
		isError(
			await from('CONF_EMPTY'),
			-32602,
			'http/request header auth requires a non-empty executor environment variable CONF_EMPTY',
		);
		isError(
			await from('OPENAI_API_KEY'),
			-32602,
			'http/request header auth cannot use executor environment variable OPENAI_API_KEY',
		);
		equal(t.seen, [], 'requests');
	});

	core('a compressed body is passed on as it is', async t => {
		const {request} = await httpClient(t, (_, response) =>
			response.writeHead(200, {'content-encoding': 'gzip'}).end(gzipSync('zipped')),
		);
		const response = await request('/');
		equal(headerValues(response, 'content-encoding'), ['gzip'], 'content-encoding');
		equal(bytes(response.bodyBase64).toString('hex'), gzipSync('zipped').toString('hex'), 'body');
	});

	core('HEAD, DELETE and unusual methods are sent as given', async t => {
		const {request} = await httpClient(t);
		equal(bodyText(await request('/', {method: 'HEAD'})), '', 'body of HEAD');
		for (const method of ['DELETE', 'PURGE', 'PATCH']) await request('/', {method});
		equal(
			t.seen.map(r => r.method),
			['HEAD', 'DELETE', 'PURGE', 'PATCH'],
			'methods',
		);
	});

	core('an error status is a normal response', async t => {
		const {request} = await httpClient(t, (_, response) => response.writeHead(503).end('later'));
		const response = await request('/');
		equal([response.status, bodyText(response)], [503, 'later'], '[status, body]');
	});

	core('an empty body is streamed as a single done', async t => {
		const {stream, deltas} = await httpClient(t, (_, response) => response.writeHead(204).end());
		equal((await stream('/', 's')).status, 204, 'status');
		equal(await deltas('s'), [{requestId: 's', seq: 1, deltaBase64: '', done: true, error: null}], 'deltas');
	});

	core('invalid base64, an unknown redirect policy and a negative timeout are invalid params', async t => {
		const {refuse} = await httpClient(t);
		isError(await refuse('/', {bodyBase64: '**'}), -32602);
		isError(await refuse('/', {redirectPolicy: 'maybe'}), -32602);
		isError(await refuse('/', {timeoutMs: -1}), -32602);
		isError(await refuse('/', {headers: {a: 'b'}}), -32602);
	});
});
