import {randomUUID} from 'node:crypto';
import {DataFrames} from '../../protocol/relay/data-frames.js';
import {decodeRelayFrame, encodeRelayFrame, type RelayBody} from '../../protocol/relay/relay-frame.js';
import {decodeRelayKey, encodePrologue} from '../../protocol/relay/relay-keys.js';
import {Deferred} from '../../shared/async/deferred.js';
import {withTimeout} from '../../shared/async/timeout.js';
import type {NoiseKeys} from '../../shared/noise/hybrid-ik.js';
import {HANDSHAKE_TIMEOUT_MS, harnessKey} from '../../transports/node/relay/connect-harness.js';
import {allocateFrame, nodeMessageCodec} from '../../transports/node/relay/node-message-codec.js';
import {type BegunHandshake, handshakes} from '../../transports/node/relay/threads/handshakes.js';
import {ChannelTransport} from '../../transports/relay/channel-transport.js';
import type {HarnessRoute, HubCluster} from '../cluster/hub-cluster.js';
import {HubRefusal} from '../http-exchange.js';
import type {RegistryService} from '../registry/registry-service.js';
import type {RelaySocket} from '../relay/relay-ends.js';
import type {EnvironmentPlace} from '../store/hub-records.js';
import type {GatewayEnd} from './gateway-socket.js';

export interface GatewayHarnessOptions {
	readonly cluster: HubCluster;
	readonly service: RegistryService;
	readonly keys: NoiseKeys;
	readonly place: EnvironmentPlace;
	/** Id of the token of the client it speaks for. */
	readonly tokenId: string;
}

const ignore = (): void => {};

/** Opens a channel to an executor inside the hub: the frames of a client, without a socket; undefined if none is connected. */
export async function openGatewayHarness(options: GatewayHarnessOptions): Promise<GatewayHarness | undefined> {
	const {cluster, service, keys, place, tokenId} = options;
	const {tenant, environmentId} = place;
	const outcome = await service.connect(place, harnessKey(keys), {tokenId});
	if (outcome.kind === 'offline') return undefined;
	const {registration, authorization} = outcome;
	const {registrationId} = registration;
	const route = await cluster.openRoute({tenant, environmentId, registrationId, tokenId});
	if (!route) throw new HubRefusal(503, 'route_unavailable', 'the executor has gone');
	try {
		const streamId = randomUUID();
		const initiator = await handshakes.begin({
			self: keys,
			responder: decodeRelayKey(registration.key),
			prologue: encodePrologue({environmentId, registrationId, streamId}),
			payload: new TextEncoder().encode(authorization),
		});
		const harness = new GatewayHarness(route, streamId);
		await harness.begin(initiator);
		return harness;
	} catch (cause) {
		route.close();
		if (cause instanceof HubRefusal) throw cause;
		throw new HubRefusal(503, 'route_unavailable', 'the executor has not let the gateway in');
	}
}

/** A client of an executor, for the relay; the far side of a plain WebSocket, for the gateway. */
export class GatewayHarness implements RelaySocket {
	readonly #route: HarnessRoute;
	readonly #streamId: string;
	readonly #answer = new Deferred<Uint8Array>();
	#channel: ChannelTransport | undefined;
	#client: GatewayEnd | undefined;
	#lastBytes = 0;
	#isClosed = false;

	constructor(route: HarnessRoute, streamId: string) {
		this.#route = route;
		this.#streamId = streamId;
		this.#answer.promise.catch(() => {});
		if (!route.attach(this)) throw new HubRefusal(503, 'route_unavailable', 'the executor has too many clients');
	}

	/** Settles when the executor has let us in. */
	async begin(initiator: BegunHandshake): Promise<void> {
		this.#sendBody({kind: 'resume', nextSeq: 0});
		this.#sendBody({kind: 'handshake', payload: initiator.message});
		const answer = await withTimeout(this.#answer.promise, HANDSHAKE_TIMEOUT_MS, () => {
			throw new Error('the executor does not answer');
		});
		const route = this.#route;
		const records = new DataFrames(this.#streamId, allocateFrame);
		this.#channel = new ChannelTransport(
			await initiator.finish(answer),
			{
				peer: 'gateway',
				get backlog() {
					return route.backlog;
				},
				sendRecord: (seq, sealed) => route.receive(records.encode(seq, sealed)),
				end: () => this.close(),
			},
			{...nodeMessageCodec, deliver: (_events, message) => this.#deliver(message)},
		);
	}

	/** Passes on to this client from now on. */
	join(client: GatewayEnd): void {
		this.#client = client;
		this.#channel!.open({message: ignore, unreadable: ignore, drained: ignore, closed: ignore});
		if (this.#isClosed) client.close();
	}

	/** A message of the client. */
	receive(message: Buffer): void {
		this.#channel?.send(message.toString());
	}

	clientDrained(): void {
		this.#route.drained();
	}

	/** A frame of the executor. */
	send(bytes: Uint8Array): void {
		const {streamId, body} = decodeRelayFrame(bytes);
		if (streamId !== this.#streamId) return;
		if (body.kind === 'reset') this.close();
		else if (body.kind === 'handshake' && !this.#channel) this.#answer.resolve(body.payload);
		else if (body.kind === 'data' && this.#channel) this.#channel.receive(body.seq, body.payload);
	}

	/** Without the last message, which comes all at once, however long it is. */
	get backlog(): number {
		return Math.max(0, (this.#client?.backlog ?? 0) - this.#lastBytes);
	}

	pause(): void {
		this.#client?.pause();
	}

	resume(): void {
		this.#client?.resume();
	}

	close(code?: number): void {
		if (this.#isClosed) return;
		this.#isClosed = true;
		this.#answer.reject(new Error('the channel was closed'));
		this.#route.close();
		this.#channel?.destroy();
		this.#client?.close(code);
	}

	destroy(): void {
		this.close();
	}

	#deliver(message: Uint8Array): void {
		this.#lastBytes = message.length;
		this.#client?.send(message);
	}

	#sendBody(body: RelayBody): void {
		this.#route.receive(encodeRelayFrame({streamId: this.#streamId, body}));
	}
}
