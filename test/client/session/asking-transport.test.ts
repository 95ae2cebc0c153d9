// covers: src/client/session/asking-transport.ts, src/transports/standard-web-socket.ts
import {expect, onTestFinished, test} from 'vitest';
import {WebSocket} from 'ws';
import {SessionClient} from '../../../src/client/session/session-client.js';
import {connectStandardWebSocket} from '../../../src/transports/standard-web-socket.js';
import {eventually} from '../../helpers/processes.js';
import {serving} from '../../helpers/serving.js';
import {sh} from '../../helpers/start-params.js';
import {silentProxy} from '../../helpers/vanishing.js';

const TIMES = {pingIntervalMs: 200, peerTimeoutMs: 1000};

async function joined(times: {pingIntervalMs: number; peerTimeoutMs: number}) {
	const host = await serving();
	const proxy = await silentProxy(host.url);
	const client = await SessionClient.open(signal =>
		connectStandardWebSocket(proxy.url, {
			WebSocket: WebSocket as unknown as typeof globalThis.WebSocket,
			...times,
			...(signal && {signal}),
		}),
	);
	onTestFinished(() => client.close());
	const losses: string[] = [];
	client.onDisconnect(({message}) => losses.push(message));
	return {host, proxy, client, losses};
}

test('a client that cannot ping notices a server that vanished, and resumes its session', async () => {
	const {proxy, client, losses} = await joined(TIMES);
	const {process: remote} = await client.start({...sh('p', 'read line; echo "$line"'), pipeStdin: true});
	proxy.swallow();
	const written = remote.write('under way\n');
	await eventually(() => losses.length === 1);
	expect(losses[0]).toContain('nothing was heard from the other end for 1 s');
	await written;
	expect((await remote.exited).exitCode).toBe(0);
});

test('a server that has nothing to say answers and is kept', async () => {
	const {host, client, losses} = await joined({...TIMES, peerTimeoutMs: 60_000});
	const count = /^exec_server_requests_total\{method="environment\/status",result="success"\} (\d+)$/m;
	const asked = (): boolean => Number(count.exec(host.server.metrics())?.[1] ?? 0) >= 5;
	await eventually(asked);
	expect([client.state, losses]).toEqual(['connected', []]);
});

test('times that contradict each other are refused', async () => {
	await expect(joined({pingIntervalMs: 1000, peerTimeoutMs: 1000})).rejects.toThrow('longer than pingIntervalMs');
});
