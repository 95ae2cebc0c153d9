import {setMaxListeners} from 'node:events';
import {type ExecutorLoad, encodeLoad, type PoolOffer} from '../../../protocol/relay/executor-offer.js';
import {isPlaced} from '../../../protocol/relay/placement.js';
import {KEY_NOT_ALLOWED} from '../../../protocol/relay/refusal-reasons.js';
import {encodeRelayKey} from '../../../protocol/relay/relay-keys.js';
import {waitAtMost} from '../../../shared/async/timeout.js';
import {errorMessage} from '../../../shared/errors.js';
import type {Logger} from '../../../shared/logger.js';
import {type NoiseKeys, publicKeysOf} from '../../../shared/noise/hybrid-ik.js';
import type {Transport} from '../../transport.js';
import {UnreachableError} from '../connect-web-socket.js';
import {PeerMonitor} from '../peer-monitor.js';
import {CLIENT_PEER_TIMES, type PeerTimes} from '../peer-times.js';
import type {TlsOptions} from '../tls-trust.js';
import {ExecutorBackOff} from './executor-back-off.js';
import {type Admission, ExecutorStreams, type StreamCaller} from './executor-streams.js';
import type {Registration, RegistryClient} from './registry-client.js';
import {RegistryError} from './registry-errors.js';
import {openRendezvous, RendezvousSocket} from './rendezvous-socket.js';
import {isUnreached, retryUnreached} from './unreached.js';

/** How long the registry is asked about a client while no hub is reached; the client waits for twice that time. */
export const VALIDATE_RETRY_MS = 5000;

/** How long a ticket is kept whose socket could not be opened; a hub takes it as fresh for a minute. */
const MAX_UNUSED_TICKET_MS = 30_000;

export interface ExecutorLinkOptions {
	readonly registry: RegistryClient;
	readonly keys: NoiseKeys;
	/** Whether a key may enter at all, whatever the registry says; everybody by default. */
	readonly isAllowed?: ((caller: StreamCaller) => boolean) | undefined;
	/** Labels, pools and slots that the hub is told. */
	readonly offer?: PoolOffer | undefined;
	/** Decides about clients that a pool has sent; without it they are let in as all others. */
	readonly slots?: PlacedSlots | undefined;
	/** `leave` has to be called when a client that a pool has sent is gone. */
	readonly accept: (transport: Transport, place?: PlacedClient) => void;
	readonly logger: Logger;
	/** For `wss:` tickets. */
	readonly tls?: TlsOptions | undefined;
	readonly peerTimes?: PeerTimes | undefined;
	/** Registered, and the socket is open. */
	readonly onOnline?: (() => void) | undefined;
}

/** Place of a client that a pool has sent. */
export interface PlacedClient {
	leave(): void;
}

/** Slots of an executor, for clients that a pool sends. */
export interface PlacedSlots {
	readonly load: ExecutorLoad;
	/** A place, or the reason of a reset. */
	take(): PlacedClient | string;
}

/**
 * Keeps an executor reachable through one registry: registers, holds the rendezvous socket open and serves its streams. It
 * registers again for every socket that was open. A hub asks the second socket of one ticket for a proof of the key, and an executor that
 * lets in only the clients in a file would refuse the hub.
 */
export class ExecutorLink {
	readonly #options: ExecutorLinkOptions;
	readonly #stop = new AbortController();
	readonly #backOff = new ExecutorBackOff();
	#socket: RendezvousSocket | undefined;
	/** Whether the relay of the socket takes loads. */
	#takesLoad = false;
	#reported: string | undefined;

	constructor(options: ExecutorLinkOptions) {
		this.#options = options;
		// Every client that the registry is asked about listens; their number is bounded.
		setMaxListeners(0, this.#stop.signal);
	}

	/** Settles after `close`; rejects if the registry refuses this executor for good. */
	async run(): Promise<void> {
		let unused: Registration | undefined;
		let registeredAt = 0;
		while (!this.#isStopped) {
			try {
				if (performance.now() - registeredAt > MAX_UNUSED_TICKET_MS) unused = undefined;
				if (!unused) registeredAt = performance.now();
				unused ??= await this.#register();
				const registration = unused;
				const {url} = registration;
				const webSocket = await openRendezvous(url, {tls: this.#options.tls, signal: this.#stop.signal});
				unused = undefined;
				await this.#serve(webSocket, registration);
				this.#backOff.lost();
			} catch (error) {
				if (this.#isStopped) break;
				if (!mayPass(error)) throw error;
				// A node that is dead has not used the ticket.
				if (!isUnreached(error)) unused = undefined;
				this.#options.logger.warn('the relay cannot be reached', {
					registry: this.#options.registry.name,
					reason: errorMessage(error),
				});
			}
			await this.#pause();
		}
	}

	/** Hangs up; sessions wait for their clients. */
	close(): void {
		this.#stop.abort();
		this.#socket?.close();
	}

	/** Tells the hub the load, if it has changed since it was told. */
	reportLoad(): void {
		const {slots} = this.#options;
		if (!slots || !this.#socket || !this.#takesLoad) return;
		const text = encodeLoad(slots.load);
		if (text === this.#reported) return;
		this.#reported = text;
		this.#socket.sendText(text);
	}

	get #isStopped(): boolean {
		return this.#stop.signal.aborted;
	}

	#register(): Promise<Registration> {
		const {registry, keys, offer} = this.#options;
		return registry.register(encodeRelayKey(publicKeysOf(keys)), this.#stop.signal, offer);
	}

	/** Settles when the socket has closed. */
	#serve(
		webSocket: Awaited<ReturnType<typeof openRendezvous>>,
		{registrationId, takesLoad}: Registration,
	): Promise<void> {
		const {registry, keys, logger, peerTimes = CLIENT_PEER_TIMES} = this.#options;
		return new Promise(resolve => {
			const socket = new RendezvousSocket(
				webSocket,
				`relay ${registry.name}`,
				{
					message: bytes => streams.receive(bytes),
					text: () => {},
					drained: () => streams.drained(),
					closed: error => {
						this.#socket = undefined;
						streams.close(error);
						logger.info('offline', {registry: registry.name, ...(error && {reason: error.message})});
						resolve();
					},
				},
				new PeerMonitor(peerTimes),
			);
			const streams = new ExecutorStreams(socket, {
				environmentId: registry.environmentId,
				registrationId,
				keys,
				admit: caller => this.#admit(registrationId, caller),
				accept: (transport, place) => {
					this.#backOff.served();
					this.#options.accept(transport, place);
				},
				logger,
			});
			this.#socket = socket;
			this.#takesLoad = takesLoad;
			this.#reported = undefined;
			this.reportLoad();
			logger.info('online', {registry: registry.name});
			this.#options.onOnline?.();
		});
	}

	/** A slot is taken before the hub is asked: several clients may be on their way. */
	async #admit(registrationId: string, caller: StreamCaller): Promise<Admission> {
		const {isAllowed, slots} = this.#options;
		if (isAllowed && !isAllowed(caller)) return {kind: 'stranger', reason: KEY_NOT_ALLOWED};
		const place = slots && isPlaced(caller.authorization) ? slots.take() : undefined;
		if (typeof place === 'string') return {kind: 'refused', reason: place};
		let isKnown = false;
		try {
			isKnown = await this.#validate(registrationId, caller);
			return isKnown ? {kind: 'admitted', place} : {kind: 'stranger'};
		} finally {
			if (!isKnown) place?.leave();
		}
	}

	/** An answer that was lost with its hub has used up the authorization: the client is not known any more, and comes with another. */
	async #validate(registrationId: string, caller: StreamCaller): Promise<boolean> {
		const {signal} = this.#stop;
		let asked = 0;
		const validate = (): Promise<boolean> => {
			asked++;
			return this.#options.registry.validate(registrationId, caller, signal);
		};
		const isKnown = await retryUnreached(validate, {limitMs: VALIDATE_RETRY_MS, signal});
		if (!isKnown && asked > 1)
			throw new RegistryError('the authorization may have been used up by an answer that was lost');
		return isKnown;
	}

	async #pause(): Promise<void> {
		if (!this.#isStopped) await waitAtMost(new Promise(() => {}), this.#backOff.next(), this.#stop.signal);
	}
}

/** Whether another attempt may succeed. */
function mayPass(error: unknown): boolean {
	return error instanceof RegistryError ? error.isPassing : error instanceof UnreachableError;
}
