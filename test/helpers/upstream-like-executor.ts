import {onTestFinished} from 'vitest';
import {encodeRelayKey} from '../../src/protocol/relay/relay-keys.js';
import {ExecServer} from '../../src/server/server.js';
import {silentLogger} from '../../src/shared/logger.js';
import {nodeNoiseCrypto} from '../../src/shared/node/node-noise-crypto.js';
import {createNoiseKeys, publicKeysOf} from '../../src/shared/noise/hybrid-ik.js';
import {ExecutorStreams} from '../../src/transports/node/relay/executor-streams.js';
import type {Registration} from '../../src/transports/node/relay/registry-client.js';
import {openRendezvous, RendezvousSocket} from '../../src/transports/node/relay/rendezvous-socket.js';
import type {RunningHub} from './hubs.js';
import {executorRegistry} from './relay-peers.js';

export interface UpstreamLikeExecutor {
	readonly registration: Registration;
	/** Whether its newest socket is open. */
	readonly isOpen: boolean;
	/** Opens another socket with the address of the only registration, as upstream's executor does after every loss. */
	open(url?: string): Promise<void>;
	/** Loses the socket. */
	cut(): void;
}

/** An executor that registers once, and serves clients on whichever socket is open; ended with the test. */
export async function upstreamLikeExecutor(
	hub: RunningHub,
	environmentId: string,
	keys = createNoiseKeys(nodeNoiseCrypto),
): Promise<UpstreamLikeExecutor> {
	const server = new ExecServer();
	const registry = executorRegistry(hub, environmentId);
	const registration = await registry.register(encodeRelayKey(publicKeysOf(keys)));
	const {registrationId} = registration;
	let socket: RendezvousSocket | undefined;
	const open = async (url = registration.url): Promise<void> => {
		const webSocket = await openRendezvous(url);
		const opened = new RendezvousSocket(webSocket, 'relay', {
			message: bytes => streams.receive(bytes),
			text: () => {},
			drained: () => streams.drained(),
			closed: error => streams.close(error),
		});
		const streams = new ExecutorStreams(opened, {
			environmentId,
			registrationId,
			keys,
			admit: async caller =>
				(await registry.validate(registrationId, caller)) ? {kind: 'admitted'} : {kind: 'stranger'},
			accept: transport => void server.accept(transport),
			logger: silentLogger,
		});
		socket = opened;
	};
	const cut = (): void => socket?.destroy();
	onTestFinished(async () => {
		cut();
		await server.shutdown(0);
	});
	await open();
	return {
		registration,
		get isOpen() {
			return socket?.isOpen === true;
		},
		open,
		cut,
	};
}
