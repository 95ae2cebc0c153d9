// covers: src/hub, src/transports/relay, src/transports/node/relay
import {expect, test} from 'vitest';
import {WebSocket} from 'ws';
import {encodeRelayFrame} from '../../src/protocol/relay/relay-frame.js';
import {nodeNoiseCrypto} from '../../src/shared/node/node-noise-crypto.js';
import {createNoiseKeys} from '../../src/shared/noise/hybrid-ik.js';
import {connectHarness, harnessKey} from '../../src/transports/node/relay/connect-harness.js';
import {RegistryClient} from '../../src/transports/node/relay/registry-client.js';
import {RegistryError} from '../../src/transports/node/relay/registry-errors.js';
import {connectVia, environmentVia, runningExecutor, runningHub} from '../helpers/hubs.js';
import {eventually} from '../helpers/processes.js';

/** Why the registry has refused a request. */
async function refusal(pending: Promise<unknown>): Promise<unknown> {
	const error = await pending.catch((reason: unknown) => reason);
	expect(error).toBeInstanceOf(RegistryError);
	const {status, code, isPassing} = error as RegistryError;
	return {status, code, isPassing};
}

/** First frame of a stream. */
function claim(streamId: string): Uint8Array {
	return encodeRelayFrame({streamId, body: {kind: 'resume', nextSeq: 0}});
}

test('a command, its output, files and a terminal work through a hub', async () => {
	const hub = await runningHub();
	await runningExecutor(hub, 'devbox');
	const box = environmentVia(hub, 'devbox');
	const {stdout, exitCode} = await box.shell('seq 1 20000; exit 3', {reject: false});
	expect([stdout.text.split('\n').length, exitCode]).toEqual([20_001, 3]);
	const content = Buffer.alloc(3 * 1024 * 1024, 'longarm ');
	const path = `/tmp/longarm-hub-${process.pid}`;
	await box.files.writeFile(path, content);
	expect(Buffer.from(await box.files.readFile(path)).equals(content)).toBe(true);
	await box.files.remove(path);
	const terminal = await box.run(['sh', '-c', 'tty && stty size'], {tty: {rows: 30, cols: 90}});
	expect(terminal.stdout.text).toContain('30 90');
});

test('a lost client socket and a lost executor socket are made again, and the process goes on without a lost line', async () => {
	const hub = await runningHub();
	await runningExecutor(hub, 'devbox');
	const box = environmentVia(hub, 'devbox');
	const process = await box.start(['sh', '-c', 'for i in $(seq 1 300); do echo $i; read line; done'], {
		stdin: true,
		backpressure: true,
	});
	let text = '';
	let lines = 0;
	const decoder = new TextDecoder();
	for await (const piece of process.output()) {
		if (piece.kind !== 'output') throw new Error('a gap');
		text += decoder.decode(piece.bytes, {stream: true});
		const seen = text.split('\n').length - 1;
		for (; lines < seen; lines++) await process.write('\n');
		if (lines === 100 || lines === 200) {
			const executor = hub.hub.relay.findExecutor('devbox');
			const harness = executor && [...executor.streams.values()][0];
			if (lines === 100) harness?.socket.destroy(new Error('cut'));
			else executor?.socket.destroy(new Error('cut'));
		}
	}
	expect(text).toBe(Array.from({length: 300}, (_, index) => `${index + 1}\n`).join(''));
	expect(await process.exited).toMatchObject({exitCode: 0});
});

test('a machine registers again at a hub that was restarted, and serves its clients', async () => {
	const first = await runningHub();
	const {link} = await runningExecutor(first, 'devbox');
	const port = Number(new URL(first.executorUrl ?? first.url).port);
	await first.hub.close();
	const second = await runningHub({data: first.data, port});
	await eventually(() => second.hub.relay.findExecutor('devbox') !== undefined);
	const {stdout} = await environmentVia(second, 'devbox').shell('echo back');
	expect(stdout.text).toBe('back\n');
	link.close();
});

test('without an executor connecting is refused as offline, with a wrong token or for another environment for good', async () => {
	const hub = await runningHub();
	const keys = createNoiseKeys(nodeNoiseCrypto);
	const connect = (token: string | undefined, environmentId = 'devbox'): Promise<unknown> =>
		new RegistryClient({url: hub.url, environmentId, token: () => token}).connect(harnessKey(keys));
	expect(await refusal(connect(hub.clientToken))).toEqual({
		status: 409,
		code: 'environment_offline',
		isPassing: true,
	});
	expect(await refusal(connect(undefined))).toEqual({status: 401, code: 'unauthorized', isPassing: false});
	expect(await refusal(connect(hub.executorToken))).toEqual({status: 401, code: 'unauthorized', isPassing: false});
	const narrow = await hub.hub.tokens.create('client', 'dev-*');
	expect(await refusal(connect(narrow.token))).toEqual({status: 403, code: 'forbidden', isPassing: false});
	expect(await refusal(connect(narrow.token, 'dev-1'))).toMatchObject({status: 409});
	expect(await hub.hub.tokens.revoke(narrow.record.id)).toBe(true);
	expect(await refusal(connect(narrow.token, 'dev-1'))).toMatchObject({status: 401});
});

test('an authorization and a ticket are good once, for the key they were given to', async () => {
	const hub = await runningHub();
	await runningExecutor(hub, 'devbox');
	const keys = createNoiseKeys(nodeNoiseCrypto);
	const registry = new RegistryClient({url: hub.url, environmentId: 'devbox', token: () => hub.clientToken});
	const bundle = await registry.connect(harnessKey(keys));
	const options = {environmentId: 'devbox', keys, bundle};
	const transport = await connectHarness(options);
	transport.destroy();
	// The ticket is used up.
	await expect(connectHarness(options)).rejects.toThrow('401');
	// The authorization is, too: another ticket does not help.
	const other = await registry.connect(harnessKey(keys));
	const replayed = {...other, authorization: bundle.authorization};
	await expect(connectHarness({...options, bundle: replayed})).rejects.toThrow('Noise relay stream reset');
	// A stolen bundle is worth nothing without the key.
	const stolen = await registry.connect(harnessKey(keys));
	const thief = createNoiseKeys(nodeNoiseCrypto);
	await expect(connectHarness({...options, keys: thief, bundle: stolen})).rejects.toThrow('Noise relay stream reset');
});

test('the newest executor of an environment wins, and the displaced one is refused while that is connected', async () => {
	const hub = await runningHub();
	const first = await runningExecutor(hub, 'devbox');
	const second = await runningExecutor(hub, 'devbox');
	await expect(first.ended).rejects.toThrow('registration_conflict');
	const {stdout} = await environmentVia(hub, 'devbox').shell('echo second');
	expect(stdout.text).toBe('second\n');
	second.link.close();
	await eventually(() => hub.hub.relay.findExecutor('devbox') === undefined);
	// Nobody is in its place now.
	await runningExecutor(hub, 'devbox', first.keys);
});

test('a stream id belongs to the socket that claimed it, and has to look like one', async () => {
	const hub = await runningHub();
	await runningExecutor(hub, 'devbox');
	const registry = new RegistryClient({url: hub.url, environmentId: 'devbox', token: () => hub.clientToken});
	const enter = async (): Promise<WebSocket> => {
		const {url} = await registry.connect(harnessKey(createNoiseKeys(nodeNoiseCrypto)));
		const socket = new WebSocket(url);
		await new Promise(resolve => socket.once('open', resolve));
		return socket;
	};
	const transport = await connectVia(hub, 'devbox')();
	const [taken] = hub.hub.relay.findExecutor('devbox')!.streams.keys();
	for (const frame of [claim(taken!), claim('stream-1'), Buffer.from('garbage')]) {
		const socket = await enter();
		const closed = new Promise(resolve => socket.once('close', resolve));
		socket.send(frame);
		expect(await closed).toBe(1008);
	}
	transport.destroy();
});
