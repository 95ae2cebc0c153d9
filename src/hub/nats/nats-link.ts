import {setTimeout as delay} from 'node:timers/promises';
import type {Msg, NatsConnection, NodeConnectionOptions, Status, Subscription} from '@nats-io/transport-node';
import {readSecretFile} from '../../server/auth/secret-file.js';
import {withTimeout} from '../../shared/async/timeout.js';
import {errorMessage, LongarmError} from '../../shared/errors.js';
import type {Logger} from '../../shared/logger.js';
import {randomId} from '../../shared/random-id.js';
import {isLoopback} from '../../transports/node/loopback.js';
import {loadTransport} from './nats-modules.js';

/** Half-open connections live for minutes with the defaults of the client. */
export const NATS_PING_INTERVAL_MS = 10_000;
const MAX_PINGS_OUT = 2;
/** How long one server may take to accept a connection. */
const CONNECT_TIMEOUT_MS = 2000;
const RECONNECT_WAIT_MS = 100;
const RECONNECT_JITTER_MS = 100;
/** How long servers are tried at the start: they may be started together with the hub. */
export const NATS_START_TIMEOUT_MS = 30_000;
/** Silence, although something is expected, after which the server is asked; and how long it has for an answer. */
const MAX_SILENCE_MS = 1000;
const ASK_TIMEOUT_MS = 1000;
const WATCHDOG_INTERVAL_MS = 500;
/** Older servers have known holes (CVE-2025-30215 and later ones), or lose acknowledged writes. */
export const OLDEST_SAFE_NATS = [2, 12, 9] as const;
const AUTHORIZATION_ERRORS: readonly string[] = ['AuthorizationError', 'UserAuthenticationExpiredError'];

/**
 * Subjects of the answers to this process. Users of a shared account are often allowed to read all of `_INBOX`, where the answers
 * of the key-value store with the secret of the tickets would be; these are below a prefix that only hubs may use.
 */
export const INBOX_PREFIX = `hub.inbox.${randomId()}`;

export interface NatsOptions {
	/** Addresses such as `nats://host:4222` or `tls://host:4222`; others of their cluster are learned. */
	readonly servers: readonly string[];
	/** Name of the connection, as the servers list it. */
	readonly name: string;
	/** File with credentials (JWT and seed), as `nsc` writes it; read again at every connect. */
	readonly credentialsFile?: string | undefined;
	readonly token?: string | undefined;
	/** Files in PEM: authorities to trust, and a certificate of our own with its key. A server without TLS is refused then. */
	readonly tls?:
		| {
				/** Authorities to trust, in PEM, instead of those in a file. */
				readonly ca?: string | undefined;
				readonly caFile?: string | undefined;
				readonly certFile?: string | undefined;
				readonly keyFile?: string | undefined;
		  }
		| undefined;
	readonly startTimeoutMs?: number | undefined;
	readonly logger: Logger;
}

/** Answer to a request: a message, nobody who could answer, or silence. */
export type NatsAnswer =
	| {readonly kind: 'answer'; readonly message: Msg}
	| {readonly kind: 'nobody'}
	/** It may have been received nevertheless. */
	| {readonly kind: 'silence'};

/** Connects; throws `NATS_UNUSABLE`. */
export async function openNatsLink(options: NatsOptions): Promise<NatsLink> {
	const {startTimeoutMs = NATS_START_TIMEOUT_MS, servers} = options;
	const {connect} = loadTransport();
	const settings = connectionSettings(options);
	const deadline = performance.now() + startTimeoutMs;
	for (;;) {
		try {
			return new NatsLink(await connect(settings), options);
		} catch (cause) {
			const isFinal = AUTHORIZATION_ERRORS.includes((cause as Error).name) || performance.now() >= deadline;
			if (!isFinal) {
				await delay(MAX_SILENCE_MS);
				continue;
			}
			throw new LongarmError('NATS_UNUSABLE', {
				message: `cannot connect to NATS at ${servers.map(withoutPassword).join(', ')}: ${errorMessage(cause)}`,
				cause,
			});
		}
	}
}

/**
 * A connection to a NATS cluster that finds out sooner than the client alone when its server no longer answers: while something
 * is expected and nothing comes for a second, the server is asked, and left for another one if it is silent.
 */
export class NatsLink {
	readonly connection: NatsConnection;
	readonly #logger: Logger;
	readonly #restored = new Set<() => void>();
	readonly #watchdog: NodeJS.Timeout;
	#isUp = true;
	#expected = 0;
	#heardBytes = 0;
	/** Monotonic. */
	#heardAt = 0;
	#isAsking = false;
	#lostCount = 0;

	constructor(connection: NatsConnection, {logger}: Pick<NatsOptions, 'logger'>) {
		this.connection = connection;
		this.#logger = logger;
		this.#watchdog = setInterval(() => void this.#look(), WATCHDOG_INTERVAL_MS);
		this.#watchdog.unref();
		void this.#follow();
		this.#warnOfVersion();
	}

	/** False from the loss of the connection until there is another one: nobody may be judged by silence meanwhile. */
	get isUp(): boolean {
		return this.#isUp;
	}

	/** How often the connection was lost. */
	get lostCount(): number {
		return this.#lostCount;
	}

	/** Address of the server, without a password. */
	get server(): string {
		return withoutPassword(this.connection.getServer());
	}

	get version(): string {
		return this.connection.info?.version ?? '0.0.0';
	}

	/** Whether the server is a member of a cluster, where state can have several replicas. */
	get isClustered(): boolean {
		return this.connection.info?.cluster !== undefined;
	}

	/** Calls back after each reconnect; returns how to stop that. */
	onRestored(callback: () => void): () => void {
		this.#restored.add(callback);
		return () => this.#restored.delete(callback);
	}

	/** Messages of a subject; one that cannot be understood is dropped. */
	subscribe(subject: string, handle: (message: Msg) => void): Subscription {
		return this.connection.subscribe(subject, {
			callback: (error, message) => {
				try {
					if (error) throw error;
					handle(message);
				} catch (problem) {
					this.#logger.debug('a message of NATS was dropped', {subject, error: errorMessage(problem)});
				}
			},
		});
	}

	/** For a message that may get lost. */
	publish(subject: string, payload: Uint8Array | string, reply?: string): void {
		try {
			this.connection.publish(subject, payload, reply === undefined ? undefined : {reply});
		} catch (error) {
			// The connection is closed for good, or the servers allow less.
			this.#logger.debug('a message to NATS was dropped', {subject, error: errorMessage(error)});
		}
	}

	/** Something should arrive until the returned function is called. */
	expect(): () => void {
		if (this.#expected++ === 0) this.#heardAt = performance.now();
		let isOver = false;
		return () => {
			if (!isOver) this.#expected--;
			isOver = true;
		};
	}

	async request(subject: string, payload: Uint8Array | string, timeoutMs: number): Promise<NatsAnswer> {
		const expected = this.expect();
		try {
			return {
				kind: 'answer',
				message: await this.connection.request(subject, payload, {timeout: timeoutMs, noMux: false}),
			};
		} catch (error) {
			const isNobody = (error as {isNoResponders?(): boolean}).isNoResponders?.() === true;
			return {kind: isNobody ? 'nobody' : 'silence'};
		} finally {
			expected();
		}
	}

	/** Whether the server answers now; it has everything that was published before, then. */
	async isAnswering(timeoutMs = ASK_TIMEOUT_MS): Promise<boolean> {
		if (!this.#isUp) return false;
		const asked = this.connection.rtt().then(
			() => true,
			() => false,
		);
		return withTimeout(asked, timeoutMs, () => false);
	}

	async close(): Promise<void> {
		clearInterval(this.#watchdog);
		this.#restored.clear();
		// The last messages have to arrive.
		await this.isAnswering();
		await this.connection.close();
	}

	async #look(): Promise<void> {
		if (this.#expected === 0 || !this.#isUp || this.#isAsking) return;
		const {inBytes} = this.connection.stats();
		const now = performance.now();
		if (inBytes !== this.#heardBytes) {
			this.#heardBytes = inBytes;
			this.#heardAt = now;
			return;
		}
		if (now - this.#heardAt < MAX_SILENCE_MS) return;
		this.#isAsking = true;
		try {
			if ((await this.isAnswering()) || !this.#isUp) {
				this.#heardAt = performance.now();
				return;
			}
			this.#logger.warn('the NATS server does not answer: another one is tried', {server: this.server});
			await this.connection.reconnect();
		} catch {
			// It is closed.
		} finally {
			this.#isAsking = false;
		}
	}

	async #follow(): Promise<void> {
		for await (const status of this.connection.status()) this.#take(status);
	}

	#take(status: Status): void {
		if (status.type === 'disconnect') {
			this.#isUp = false;
			this.#lostCount++;
			this.#logger.warn('the connection to NATS is lost', {server: withoutPassword(status.server)});
		} else if (status.type === 'reconnect') {
			this.#isUp = true;
			this.#heardAt = performance.now();
			this.#logger.info('connected to NATS again', {server: withoutPassword(status.server)});
			for (const callback of this.#restored) callback();
		} else if (status.type === 'error') {
			this.#logger.warn('NATS reports an error', {error: errorMessage(status.error)});
		}
	}

	#warnOfVersion(): void {
		const {server, version} = this;
		const host = server
			.replace(/^\w+:\/\//, '')
			.replace(/:\d+$/, '')
			.replace(/^\[|\]$/g, '');
		if (isLoopback(host) || !isOlderThan(version, OLDEST_SAFE_NATS)) return;
		const oldest = OLDEST_SAFE_NATS.join('.');
		this.#logger.warn(`this NATS server has known holes: run ${oldest} or later`, {server, version});
	}
}

/** Whether a version such as `2.9.10` comes before another one. */
export function isOlderThan(version: string, [major, minor, patch]: readonly [number, number, number]): boolean {
	const [ours = 0, second = 0, third = 0] = version.split(/[.-]/).map(part => Number.parseInt(part, 10) || 0);
	if (ours !== major) return ours < major;
	return second === minor ? third < patch : second < minor;
}

function connectionSettings({servers, name, credentialsFile, token, tls}: NatsOptions): NodeConnectionOptions {
	const {credsAuthenticator} = loadTransport();
	return {
		servers: [...servers],
		name,
		pingInterval: NATS_PING_INTERVAL_MS,
		maxPingOut: MAX_PINGS_OUT,
		timeout: CONNECT_TIMEOUT_MS,
		maxReconnectAttempts: -1,
		inboxPrefix: INBOX_PREFIX,
		reconnectTimeWait: RECONNECT_WAIT_MS,
		reconnectJitter: RECONNECT_JITTER_MS,
		reconnectJitterTLS: RECONNECT_JITTER_MS,
		// Credentials that are renewed meanwhile are taken at the next attempt.
		ignoreAuthErrorAbort: true,
		...(token !== undefined && {token}),
		...(credentialsFile !== undefined && {
			authenticator: credsAuthenticator(() => Buffer.from(readSecretFile(credentialsFile))),
		}),
		// Without this setting the client would send its credentials to a server that offers no TLS, also for tls:// addresses.
		...((tls || servers.some(isTlsAddress)) && {tls: definedOnly(tls ?? {})}),
	};
}

function isTlsAddress(server: string): boolean {
	return server.startsWith('tls://');
}

function definedOnly<T extends object>(options: T): {[K in keyof T]?: NonNullable<T[K]>} {
	return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as never;
}

/** A URL may hold a name and a password, or a token. */
export function withoutPassword(server: string): string {
	return server.replace(/\/\/[^@/]*@/, '//').replace(/^[^@/]*@/, '');
}
