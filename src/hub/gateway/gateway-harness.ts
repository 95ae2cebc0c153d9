import {randomUUID} from 'node:crypto';
import {decodeRelayFrame, encodeRelayFrame, type RelayBody} from '../../protocol/relay/relay-frame.js';
import {decodeRelayKey, encodePrologue} from '../../protocol/relay/relay-keys.js';
import {Deferred} from '../../shared/async/deferred.js';
import {withTimeout} from '../../shared/async/timeout.js';
import {nodeNoiseCrypto} from '../../shared/node/node-noise-crypto.js';
import {NoiseInitiator, type NoiseKeys} from '../../shared/noise/hybrid-ik.js';
import {HANDSHAKE_TIMEOUT_MS, harnessKey} from '../../transports/node/relay/connect-harness.js';
import {ChannelTransport} from '../../transports/relay/channel-transport.js';
import {HubRefusal} from '../http-exchange.js';
import type {RegistryService} from '../registry/registry-service.js';
import type {Relay} from '../relay/relay.js';
import type {ExecutorEnd, HarnessEnd, RelaySocket} from '../relay/relay-ends.js';
import type {GatewayEnd} from './gateway-socket.js';

export interface GatewayHarnessOptions {
	readonly relay: Relay;
	readonly service: RegistryService;
	readonly keys: NoiseKeys;
	readonly executor: ExecutorEnd;
	/** Id of the token of the client it speaks for. */
	readonly tokenId: string;
}

const ignore = (): void => {};

/** Opens a channel to an executor inside the hub: the frames of a client, without a socket. */
export async function openGatewayHarness(options: GatewayHarnessOptions): Promise<GatewayHarness> {
	const {service, keys, executor} = options;
	const {environmentId} = executor;
	const outcome = await service.connect(environmentId, harnessKey(keys));
	if (outcome.kind === 'offline') throw new HubRefusal(503, 'route_unavailable', 'the executor has gone');
	const {registration, authorization} = outcome;
	const streamId = randomUUID();
	const initiator = new NoiseInitiator(nodeNoiseCrypto, {
		self: keys,
		responder: decodeRelayKey(registration.key),
		prologue: encodePrologue({environmentId, registrationId: registration.registrationId, streamId}),
		payload: new TextEncoder().encode(authorization),
	});
	const harness = new GatewayHarness(options, streamId);
	try {
		await harness.begin(initiator);
		return harness;
	} catch (cause) {
		harness.close();
		if (cause instanceof HubRefusal) throw cause;
		throw new HubRefusal(503, 'route_unavailable', 'the executor has not let the gateway in');
	}
}

/** A client of an executor, for the relay; the far side of a plain WebSocket, for the gateway. */
export class GatewayHarness implements RelaySocket {
	readonly #relay: Relay;
	readonly #streamId: string;
	readonly #end: HarnessEnd;
	readonly #answer = new Deferred<Uint8Array>();
	#channel: ChannelTransport | undefined;
	#client: GatewayEnd | undefined;
	#lastBytes = 0;
	#isClosed = false;

	constructor({relay, executor, tokenId}: GatewayHarnessOptions, streamId: string) {
		this.#relay = relay;
		this.#streamId = streamId;
		this.#answer.promise.catch(() => {});
		const end = relay.addHarness(executor, tokenId, this);
		if (!end) throw new HubRefusal(503, 'route_unavailable', 'the executor has too many clients');
		this.#end = end;
	}

	/** Settles when the executor has let us in. */
	async begin(initiator: NoiseInitiator): Promise<void> {
		this.#sendBody({kind: 'resume', nextSeq: 0});
		this.#sendBody({kind: 'handshake', payload: initiator.message});
		const answer = await withTimeout(this.#answer.promise, HANDSHAKE_TIMEOUT_MS, () => {
			throw new Error('the executor does not answer');
		});
		const {socket} = this.#end.executor;
		this.#channel = new ChannelTransport(
			initiator.finish(answer),
			{
				peer: 'gateway',
				get backlog() {
					return socket.backlog;
				},
				sendRecord: (seq, payload) => this.#sendBody({kind: 'data', seq, payload}),
				end: () => this.close(),
			},
			{encode: frame => Buffer.from(frame.toString()), deliver: (_events, message) => this.#deliver(message)},
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
		this.#relay.harnessDrained(this.#end);
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
		this.#relay.removeHarness(this.#end);
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
		this.#relay.receiveFromHarness(this.#end, encodeRelayFrame({streamId: this.#streamId, body}));
	}
}
