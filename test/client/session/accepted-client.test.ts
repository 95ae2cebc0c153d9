import {expect, onTestFinished, test} from 'vitest';
import {AcceptedClient} from '../../../src/client/session/accepted-client.js';
import {memoryTransportPair} from '../../../src/transports/memory.js';
import type {Transport} from '../../../src/transports/transport.js';
import {eventually} from '../../helpers/processes.js';
import {execServer} from '../../helpers/serving.js';
import {sh} from '../../helpers/start-params.js';

/** An executor that dials in. */
function dialling(): () => Transport {
	const server = execServer();
	return () => {
		const [near, far] = memoryTransportPair();
		server.accept(far);
		return near;
	};
}

async function accepted(transport: Transport): Promise<AcceptedClient> {
	const client = await AcceptedClient.open(transport, {});
	onTestFinished(() => client.client.close());
	return client;
}

test('a new connection of the executor carries the session on, and the old one is let go', async () => {
	const dial = dialling();
	const accepting = await accepted(dial());
	const {client} = accepting;
	const {process} = await client.start(sh('p', 'read x; echo $x', {pipeStdin: true}));
	const waiting = client.call('process/wait', {processId: 'p'});
	// It may be rejected before its error is looked at.
	waiting.catch(() => {});
	await accepting.replace(dial());
	await expect(waiting).rejects.toThrow('exec-server transport disconnected: exec-server connection replaced');
	await process.write('over the new one\n');
	let text = '';
	for await (const piece of process.output()) if (piece.kind === 'output') text += Buffer.from(piece.bytes).toString();
	expect(text).toBe('over the new one\n');
});

test('after a loss the next connection is waited for', async () => {
	const dial = dialling();
	const first = dial();
	const accepting = await accepted(first);
	first.destroy();
	await eventually(() => accepting.client.state === 'recovering');
	const asking = accepting.client.call('environment/status', {});
	await accepting.replace(dial());
	expect(await asking).toEqual({status: 'ready'});
});

test('two replacements at once are one too many', async () => {
	const dial = dialling();
	const accepting = await accepted(dial());
	const one = accepting.replace(dial());
	await expect(accepting.replace(dial())).rejects.toThrow('an accepted exec-server replacement is already in progress');
	await one;
});

test('a connection to an executor that does not know the session ends it', async () => {
	const accepting = await accepted(dialling()());
	await expect(accepting.replace(dialling()())).rejects.toThrow('failed to resume exec-server session');
	expect(accepting.client.state).toBe('failed');
});
