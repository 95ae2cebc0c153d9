import {expect, onTestFinished, test, vi} from 'vitest';
import {parseMessage} from '../../../src/protocol/wire/envelope.js';
import {payloadBuffers} from '../../../src/shared/node/buffer-pool.js';
import {connected, listening} from '../../helpers/serving.js';

test('the memory of large messages is used again, whole or in fragments, and their bytes are right', async () => {
	const given = vi.spyOn(payloadBuffers, 'give');
	onTestFinished(() => void vi.restoreAllMocks());
	const received: Buffer[] = [];
	let arrived: (() => void) | undefined;
	const url = await listening(transport => {
		transport.open({
			message: (text, bulk) => {
				const {params} = parseMessage(text, bulk) as unknown as {params: {chunk: Uint8Array}};
				received.push(Buffer.from(params.chunk));
				bulk!.release();
				arrived?.();
			},
			unreadable: () => {},
			drained: () => {},
			closed: () => {},
		});
	});
	const socket = await connected(url);
	const contents = Array.from({length: 8}, (_, index) => Buffer.alloc(1024 * 1024, `content ${index}`));
	for (const content of contents) {
		const text = `{"method":"n","params":{"chunk":"${content.toString('base64')}"}}`;
		socket.send(text.slice(0, 700_000), {fin: false});
		socket.send(text.slice(700_000), {fin: true});
		socket.send(text);
	}
	while (received.length < 16) await new Promise<void>(resolve => (arrived = resolve));
	for (const [index, content] of received.entries()) expect(content.equals(contents[index >> 1]!)).toBe(true);
	// What was decoded, and what it was decoded from: in one piece or in two.
	expect(given.mock.calls.length).toBe(8 * (1 + 2) + 8 * (1 + 1));
});
