// What the listener says over plain HTTP, and to browsers.
import {request} from 'node:http';
import {equal, ok} from '../lib/check.mjs';
import {run, sh} from '../lib/proc.mjs';
import {group, Skip} from '../lib/suite.mjs';

const upgrade = {
	connection: 'Upgrade',
	upgrade: 'websocket',
	'sec-websocket-version': '13',
	'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
};

function statusOf(t, path, {method = 'GET', headers = {}} = {}) {
	if (!t.url) throw new Skip('no --server-cmd');
	return new Promise((resolve, reject) => {
		request(new URL(path, t.url.replace(/^ws/, 'http')), {method, headers}, response => {
			response.resume();
			resolve(response.statusCode);
		})
			.on('upgrade', (response, socket) => {
				socket.destroy();
				resolve(response.statusCode);
			})
			.on('error', reject)
			.end();
	});
}

export const tests = group('surface', ({core}) => {
	core('GET /readyz is 200', async t => {
		equal(await statusOf(t, '/readyz'), 200, 'status');
	});

	core('a WebSocket with an Origin header is rejected with 403', async t => {
		const error = await t.raw({origin: 'https://evil.example'}).then(
			() => ({}),
			reason => reason,
		);
		equal(error.statusCode, 403, 'status');
	});

	core('any request with an Origin header is rejected with 403', async t => {
		equal(await statusOf(t, '/readyz', {headers: {origin: 'http://localhost'}}), 403, '/readyz');
		equal(await statusOf(t, '/', {headers: {origin: 'null'}}), 403, '/');
	});

	core('an unknown path is 404', async t => {
		equal(await statusOf(t, '/nothing/here'), 404, 'status');
	});

	core('a plain GET of / is a client error', async t => {
		const code = await statusOf(t, '/');
		ok(code >= 400 && code < 500, `a 4xx status, got ${code}`);
	});

	core('the upgrade of / is 101', async t => {
		equal(await statusOf(t, '/', {headers: upgrade}), 101, 'status');
	});

	core('twenty connections at once are served', async t => {
		const peers = await Promise.all(Array.from({length: 20}, () => t.open()));
		const codes = await Promise.all(peers.map(async (peer, i) => (await run(peer, sh(`exit ${i}`))).exitCode));
		equal(
			codes,
			peers.map((_, i) => i),
			'exit codes',
		);
	});

	core('HEAD /readyz is 200 and POST /readyz is refused', async t => {
		equal(await statusOf(t, '/readyz', {method: 'HEAD'}), 200, 'HEAD');
		equal(await statusOf(t, '/readyz', {method: 'POST'}), 405, 'POST');
	});

	core('a WebSocket on another path is refused', async t => {
		equal(await statusOf(t, '/other', {headers: upgrade}), 404, 'status');
	});
});
