import {randomBytes} from 'node:crypto';
import {writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, onTestFinished, test} from 'vitest';
import {RemoteFiles} from '../../../src/client/files/remote/remote-files.js';
import {BLOCK_BYTES} from '../../../src/client/files/streams/block-reader.js';
import {SessionClient} from '../../../src/client/session/session-client.js';
import {connectWebSocket} from '../../../src/transports/node/connect-web-socket.js';
import type {Transport} from '../../../src/transports/transport.js';
import {scratchDirectory} from '../../helpers/scratch.js';
import {serving} from '../../helpers/serving.js';

test('what belongs to a connection is lost with it, though the session goes on', async () => {
	const {url} = await serving();
	const transports: Transport[] = [];
	const client = await SessionClient.open(async signal => {
		const transport = await connectWebSocket(url, {...(signal && {signal})});
		transports.push(transport);
		return transport;
	});
	onTestFinished(async () => {
		client.close();
		await client.ended;
	});
	const files = new RemoteFiles(async () => client);
	const root = scratchDirectory();
	const [source, target] = [join(root, 'a'), join(root, 'b')];
	writeFileSync(source, randomBytes(9 * BLOCK_BYTES));
	const reader = files.readStream(source).getReader();
	await reader.read();
	const writer = files.writeStream(target).getWriter();
	await writer.write(Buffer.from('x'));
	const watch = await files.watch(root);
	const tree = await files.pack(root);
	const noticed = new Promise(resolve => client.onDisconnect(resolve));
	transports[0]!.destroy();
	await noticed;

	// Waits for the session to be resumed.
	expect((await files.metadata(source)).size).toBe(9 * BLOCK_BYTES);
	const lost = {code: 'disconnected', message: 'exec-server transport closed'};
	const drained = async () => {
		while (!(await reader.read()).done);
	};
	await expect(drained()).rejects.toMatchObject(lost);
	await expect(writer.close()).rejects.toMatchObject(lost);
	const unwatched = async () => {
		for await (const _changes of watch);
	};
	await expect(unwatched()).rejects.toMatchObject(lost);
	await expect(tree.stream.getReader().read()).rejects.toMatchObject(lost);
	await expect(tree.outcome).rejects.toMatchObject(lost);
});
