import {expect, onTestFinished, test} from 'vitest';
import {ConnectionPool, MAX_ROUTES} from '../../../src/network/http/connection-pool.js';
import {answering, rawOrigin} from '../origin.js';

const MESSAGE = {
	method: 'GET',
	head: 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n',
	body: undefined,
	closesConnection: false,
};

test('the route of a connection that is in use is not forgotten for others, and the connection is used again', async () => {
	const {port, sockets} = await rawOrigin(answering('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'));
	const url = new URL(`http://127.0.0.1:${port}/`);
	const pool = new ConnectionPool({});
	onTestFinished(() => pool.close());
	const request = (): Promise<void> =>
		new Promise((resolve, reject) => {
			const receiver = {onHead: () => {}, onBody: () => true, onEnd: resolve, onFailure: reject};
			pool.send(pool.routeTo(url), MESSAGE, receiver);
		});
	const first = request();
	for (let index = 0; index < 2 * MAX_ROUTES; index++) pool.routeTo(new URL(`http://${index}.invalid/`));
	await first;
	await request();
	expect(sockets).toHaveLength(1);
});
