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
import {ExecutorStreams, type StreamCaller} from './executor-streams.js';
import type {Registration, RegistryClient} from './registry-client.js';
import {RegistryError} from './registry-errors.js';
import {openRendezvous, RendezvousSocket} from './rendezvous-socket.js';

/** Pauses between attempts double from the first to the longest, each times a random half to whole. */
export const FIRST_BACKOFF_MS = 500;
export const MAX_BACKOFF_MS = 5000;

export interface ExecutorLinkOptions {
	readonly registry: RegistryClient;
	readonly keys: NoiseKeys;
	/** Whether a key may enter at all, whatever the registry says; everybody by default. */
	readonly isAllowed?: ((caller: StreamCaller) => boolean) | undefined;
	readonly accept: (transport: Transport) => void;
	readonly logger: Logger;
	/** For `wss:` tickets. */
	readonly tls?: TlsOptions | undefined;
	readonly peerTimes?: PeerTimes | undefined;
	/** Registered, and the socket is open. */
	readonly onOnline?: (() => void) | undefined;
}

/**
 * Keeps an executor reachable through one registry: registers, holds the rendezvous socket open and serves its streams. A lost
 * socket is opened again with the same ticket; a ticket that is refused is replaced by another registration.
 */
export class ExecutorLink {
	readonly #options: ExecutorLinkOptions;
	readonly #stop = new AbortController();
	#attempts = 0;
	#socket: RendezvousSocket | undefined;

	constructor(options: ExecutorLinkOptions) {
		this.#options = options;
	}

	/** Settles after `close`; rejects if the registry refuses this executor for good. */
	async run(): Promise<void> {
		let registration: Registration | undefined;
		while (!this.#isStopped) {
			try {
				registration ??= await this.#register();
				const webSocket = await openRendezvous(registration.url, {
					tls: this.#options.tls,
					signal: this.#stop.signal,
				});
				await this.#serve(webSocket, registration);
			} catch (error) {
				if (this.#isStopped) break;
				if (isTicketRefused(error)) registration = undefined;
				else if (error instanceof RegistryError ? !error.isPassing : !(error instanceof UnreachableError)) throw error;
				this.#options.logger.warn('the relay cannot be reached', {
					registry: this.#options.registry.name,
					reason: errorMessage(error),
				});
			}
			await this.#backOff();
		}
	}

	/** Hangs up; sessions wait for their clients. */
	close(): void {
		this.#stop.abort();
		this.#socket?.close();
	}

	get #isStopped(): boolean {
		return this.#stop.signal.aborted;
	}

	#register(): Promise<Registration> {
		const {registry, keys} = this.#options;
		return registry.register(encodeRelayKey(publicKeysOf(keys)), this.#stop.signal);
	}

	/** Settles when the socket has closed. */
	#serve(webSocket: Awaited<ReturnType<typeof openRendezvous>>, {registrationId}: Registration): Promise<void> {
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
				accept: transport => {
					// A served client proves that the relay works, so the next loss is mended at once.
					this.#attempts = 0;
					this.#options.accept(transport);
				},
				logger,
			});
			this.#socket = socket;
			logger.info('online', {registry: registry.name});
			this.#options.onOnline?.();
		});
	}

	async #admit(registrationId: string, caller: StreamCaller): Promise<boolean> {
		const {registry, isAllowed} = this.#options;
		if (isAllowed && !isAllowed(caller)) return false;
		return registry.validate(registrationId, caller, this.#stop.signal);
	}

	async #backOff(): Promise<void> {
		if (this.#isStopped) return;
		const longest = Math.min(FIRST_BACKOFF_MS * 2 ** this.#attempts++, MAX_BACKOFF_MS);
		await waitAtMost(new Promise(() => {}), longest * (0.5 + Math.random() / 2), this.#stop.signal);
	}
}

/** The relay wants another ticket. */
function isTicketRefused(error: unknown): boolean {
	return error instanceof UnreachableError && error.status !== undefined && error.status >= 400 && error.status < 500;
}
