// covers: src/transports/node/pending-connections.ts, src/transports/node/listener.ts
import {once} from 'node:events';
import {connect, type Socket} from 'node:net';
import {expect, onTestFinished, test} from 'vitest';
import {MAX_PENDING_UPGRADES} from '../../../src/transports/node/listener.js';
import {eventually} from '../../helpers/processes.js';
import {connected, listening} from '../../helpers/serving.js';

test('idle connections of one address keep nobody out: the oldest are closed, and clients are served', async () => {
	const url = await listening(() => {});
	const {hostname, port} = new URL(url);
	const first = await connected(url);
	const idle: Socket[] = [];
	onTestFinished(() => idle.forEach(socket => socket.destroy()));
	for (let count = 0; count < MAX_PENDING_UPGRADES + 8; count++) {
		const socket = connect({host: hostname, port: Number(port)});
		socket.on('error', () => {});
		await once(socket, 'connect');
		idle.push(socket);
	}
	await eventually(() => idle.filter(socket => socket.readyState !== 'open').length >= 8);
	const second = await connected(url);
	expect([first.readyState, second.readyState]).toEqual([first.OPEN, first.OPEN]);
	// Those that came last still have their time.
	expect(idle.at(-1)!.readyState).toBe('open');
});
