// covers: src/transports/node/web-socket.ts (pings of a peer that does not read, messages that are half sent)
import {expect, test} from 'vitest';
import type {Transport} from '../../../src/transports/transport.js';
import {eventually} from '../../helpers/processes.js';
import {connected, listening, underlyingSocket} from '../../helpers/serving.js';

interface Accepted {
	readonly transport: Transport;
	readonly messages: string[];
	/** Reported bytes of messages that had not arrived completely. */
	readonly partial: number[];
}

async function accepting(): Promise<{url: string; accepted: Accepted[]}> {
	const accepted: Accepted[] = [];
	const url = await listening(transport => {
		const end: Accepted = {transport, messages: [], partial: []};
		accepted.push(end);
		transport.open({
			message: text => end.messages.push(text),
			unreadable: () => {},
			partial: bytes => end.partial.push(bytes),
			drained: () => {},
			closed: () => {},
		});
	});
	return {url, accepted};
}

test('pings of a client that does not read are answered as far as it reads, and take no memory', async () => {
	const {url, accepted} = await accepting();
	const client = await connected(url);
	underlyingSocket(client).pause();
	const data = Buffer.alloc(125);
	for (let count = 0; count < 200_000; count++) client.ping(data);
	client.send('last');
	await eventually(() => accepted[0]?.messages.includes('last') === true);
	expect(accepted[0]!.transport.backlog).toBeLessThan(1024 * 1024);
});

test('a ping of a client that reads is answered', async () => {
	const {url} = await accepting();
	const client = await connected(url);
	const answered = new Promise<string>(resolve => client.once('pong', data => resolve(String(data))));
	client.ping('here?');
	expect(await answered).toBe('here?');
});

test('a long message is reported while it arrives, and so is its end', async () => {
	const {url, accepted} = await accepting();
	const client = await connected(url);
	client.send('x'.repeat(1024 * 1024), {fin: false});
	await eventually(() => (accepted[0]?.partial.at(-1) ?? 0) >= 1024 * 1024);
	client.send('end', {fin: true});
	await eventually(() => accepted[0]!.messages.length === 1);
	expect(accepted[0]!.partial.at(-1)).toBe(0);
});
