import {createServer, type IncomingMessage, type Server, type ServerResponse} from 'node:http';
import type {AddressInfo, Socket} from 'node:net';
import {join} from 'node:path';
import type {Duplex} from 'node:stream';
import {setTimeout as delay} from 'node:timers/promises';
import {Deferred} from '../shared/async/deferred.js';
import {waitAtMost} from '../shared/async/timeout.js';
import {errorMessage} from '../shared/errors.js';
import {type Logger, silentLogger} from '../shared/logger.js';
import {createHostCheck} from '../transports/node/host-header.js';
import {upgradeStatusOf} from '../transports/node/http-endpoints.js';
import {type HttpSite, isForSite} from '../transports/node/http-site.js';
import type {PeerTimes} from '../transports/node/peer-times.js';
import {loadNoiseKeys} from '../transports/node/relay/key-file.js';
import {createTlsServer, replaceIdentity, type TlsIdentity} from '../transports/node/tls-server.js';
import {UpgradeGate} from '../transports/node/upgrade-gate.js';
import {HubAccess, type HubAccessOptions} from './access/hub-access.js';
import {HubConnections} from './access/hub-connections.js';
import {InternalTokens} from './access/internal-tokens.js';
import type {ClusterParts, HubBackend, HubCluster} from './cluster/hub-cluster.js';
import {ControlSocket} from './control-socket.js';
import {EnvironmentRoutes, type ListedEnvironment} from './environment-routes.js';
import {Gateway} from './gateway/gateway.js';
import {bearerOf, discardBody, HubRefusal, limitBody, REQUEST_TIMEOUT_MS, sendRefusal, urlOf} from './http-exchange.js';
import {hubControlRoutes} from './hub-control.js';
import type {HubExtension} from './hub-extension.js';
import {HubMetrics} from './hub-metrics.js';
import type {HubStatus} from './hub-status-record.js';
import {PoolPlacer} from './pools/pool-placer.js';
import {RegistryRoutes} from './registry/registry-routes.js';
import {type PresenceLookup, RegistryService} from './registry/registry-service.js';
import {signTicket, type TicketRequest} from './registry/tickets.js';
import {Relay} from './relay/relay.js';
import {RelayUpgrades, refuseUpgrade} from './relay/relay-upgrades.js';
import {EmbeddedBackend} from './store/embedded-backend.js';
import {DEFAULT_TENANT, type RegistrationRecord, type TokenRecord} from './store/hub-records.js';
import type {TokenStore} from './store/hub-store.js';
import {coversEnvironment} from './store/hub-tokens.js';

/** The same for requests of an extension. */
const EXTENSION_TIMEOUT_MS = 600_000;

/** How often connections are looked at that have not sent a whole request in time. */
const CONNECTION_CHECK_MS = 2000;
/** How often tokens are looked at; sockets of a revoked one are closed then. */
const REVOCATION_CHECK_MS = 2000;
/** How often a drain looks for streams that are left. */
const DRAIN_LOOK_MS = 100;
/** How long peers may take to answer to a close when the hub ends. */
const CLOSE_GRACE_MS = 1000;
const GATEWAY_KEY_FILE = 'gateway-key.json';
const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

export interface HubOptions {
	readonly host: string;
	readonly port: number;
	/** Directory of the state and the tokens. */
	readonly data: string;
	/** State that is shared with other nodes; files in `data` by default, for a hub that is alone. Closed with the hub. */
	readonly backend?: HubBackend | undefined;
	/** Address that executors and clients reach this hub by, such as `https://hub.example`; by default that of their request. */
	readonly publicUrl?: string | undefined;
	readonly tls?: TlsIdentity | undefined;
	/** Names in the `Host` header that are served besides addresses, without TLS. */
	readonly allowHosts?: readonly string[] | undefined;
	/** Whether clients that know no registry are served, too, which ends the encryption here. */
	readonly hasGateway?: boolean | undefined;
	/** Pages and WebSockets for browsers, which have no business anywhere else here. */
	readonly site?: HttpSite | undefined;
	readonly rates?: HubAccessOptions['rates'];
	/** Environments in all, and those that one token may add; `MAX_ENVIRONMENTS` and `MAX_ENVIRONMENTS_PER_TOKEN` by default. */
	readonly maxEnvironments?: number | undefined;
	readonly maxEnvironmentsPerToken?: number | undefined;
	/** Clients of the gateway at once; `MAX_GATEWAY_CLIENTS` by default. */
	readonly maxGatewayClients?: number | undefined;
	readonly peerTimes?: PeerTimes | undefined;
	readonly logger?: Logger | undefined;
}

/** Registry and relay in one process. */
export class Hub {
	readonly relay: Relay;
	readonly tokens: TokenStore;
	readonly internalTokens: InternalTokens;
	readonly cluster: HubCluster;
	readonly #options: HubOptions;
	readonly #logger: Logger;
	readonly #backend: HubBackend;
	readonly #server: Server;
	readonly access: HubAccess;
	readonly #metrics: HubMetrics;
	readonly #registry: RegistryRoutes;
	readonly #environments: EnvironmentRoutes;
	readonly #upgrades: RelayUpgrades;
	readonly #gateway: Gateway | undefined;
	readonly #control: ControlSocket;
	readonly #pages: UpgradeGate<undefined>;
	readonly #isKnownHost: (header: string | undefined) => boolean;
	#revocationTimer: NodeJS.Timeout | undefined;
	/** Sockets that were HTTP connections, which the server does not close. */
	readonly #upgraded = new Set<Duplex>();
	#extension: HubExtension | undefined;
	#isDraining = false;
	readonly #drained = new Deferred();
	#closing: Promise<void> | undefined;

	/** Opens the state; throws `STATE_UNUSABLE`. */
	constructor(options: HubOptions) {
		this.#options = options;
		const logger = options.logger ?? silentLogger;
		this.#logger = logger;
		const backend =
			options.backend ??
			new EmbeddedBackend(options.data, bad => logger.warn('a line of the state is skipped', {...bad}));
		this.#backend = backend;
		const {store, grants} = backend;
		const tokens = new InternalTokens(backend.tokens);
		this.tokens = backend.tokens;
		this.internalTokens = tokens;
		const connections = new HubConnections();
		const access = new HubAccess({tokens, connections, logger, rates: options.rates});
		this.access = access;
		const relay = new Relay({
			changed: executor => cluster.executorChanged(executor),
			loadChanged: executor => cluster.loadChanged(executor),
		});
		this.relay = relay;
		const changed: ClusterParts['changed'] = (place, isOnline) => this.#environments.tell(place, isOnline);
		const cluster = backend.createCluster({relay, changed, logger});
		this.cluster = cluster;
		const metrics = new HubMetrics(relay, cluster);
		this.#metrics = metrics;
		const isOnline: PresenceLookup = (place, registrationId) => cluster.isOnline(place, registrationId);
		const {maxEnvironments, maxEnvironmentsPerToken} = options;
		const service = new RegistryService({store, grants, isOnline, maxEnvironments, maxEnvironmentsPerToken});
		const socketOrigin = (request: IncomingMessage): string => this.#socketOrigin(request);
		const sign = (given: TicketRequest): string => signTicket(store.ticketSecret, given, grants.createNonce());
		const shared = {service, cluster, access, socketOrigin, signTicket: sign, logger};
		this.#registry = new RegistryRoutes({
			...shared,
			placer: new PoolPlacer({store, cluster, service}),
			isDraining: () => this.#isDraining,
			onReplaced: (place, registrationId) => cluster.dismiss(place, registrationId),
		});
		const plainExecutors = (tenant?: string) => this.#gateway?.plainExecutors.list(tenant) ?? [];
		this.#environments = new EnvironmentRoutes({store, cluster, access, plainExecutors});
		this.#gateway = options.hasGateway
			? new Gateway({
					...shared,
					changed,
					keys: loadNoiseKeys(join(options.data, GATEWAY_KEY_FILE)),
					maxClients: options.maxGatewayClients,
				})
			: undefined;
		this.#upgrades = new RelayUpgrades({
			...shared,
			relay,
			grants,
			connections,
			ticketSecret: store.ticketSecret,
			metrics,
			peerTimes: options.peerTimes,
			isGoodToken: id => tokens.isGood(id),
			plainExecutors: this.#gateway?.plainExecutors,
		});
		this.#control = new ControlSocket({
			directory: options.data,
			routes: hubControlRoutes({
				list: () => this.#environments.list(),
				metrics: () => metrics.render(),
				status: () => this.status(),
				drain: timeoutMs => void this.drain(timeoutMs),
				tokens: backend.tokens,
			}),
			logger,
		});
		this.#isKnownHost = options.tls ? () => true : createHostCheck(options.host, options.allowHosts ?? []);
		this.#pages = new UpgradeGate(
			{
				site: options.site,
				accept: transport => transport.destroy(),
				...(options.peerTimes && {peerTimes: options.peerTimes}),
			},
			{describePeer: socket => socket.remoteAddress ?? 'unknown', isKnownHost: header => this.#isKnownHost(header)},
		);
		this.#server = this.#createServer(connections);
	}

	/** Environments that a token is good for. */
	async environmentsOf(token: TokenRecord): Promise<readonly ListedEnvironment[]> {
		return (await this.#environments.list(token.tenant)).filter(({id}) => coversEnvironment(token, id));
	}

	/** Listens; settles with the address for people and programs. */
	async listen(): Promise<string> {
		const {host, port, tls} = this.#options;
		await new Promise<void>((resolve, reject) => {
			this.#server.once('error', reject);
			this.#server.listen(port, host, () => {
				this.#server.off('error', reject);
				resolve();
			});
		});
		await this.#control.listen();
		this.#revocationTimer = setInterval(() => this.#disconnectRevoked(), REVOCATION_CHECK_MS);
		this.#revocationTimer.unref();
		const {port: bound} = this.#server.address() as AddressInfo;
		const name = host.includes(':') ? `[${host}]` : host;
		return `${tls ? 'https' : 'http'}://${name}:${bound}`;
	}

	/** A certificate for connections from now on; throws `TLS_INVALID`. */
	renew(identity: TlsIdentity): void {
		replaceIdentity(this.#server, identity);
	}

	/** Registrations of a tenant, for placement. */
	listRegistrations(tenant: string): Promise<readonly RegistrationRecord[]> {
		return this.#backend.store.listRegistrations(tenant);
	}

	/** Answers further requests from now on; the extension is closed with the hub. */
	attach(extension: HubExtension): void {
		this.#extension = extension;
		this.#metrics.attach(extension);
		this.#server.requestTimeout = EXTENSION_TIMEOUT_MS;
	}

	status(): HubStatus {
		const ends = [...this.relay.executors()];
		return {
			isDraining: this.#isDraining,
			executors: ends.length,
			clients: ends.reduce((sum, {harnesses}) => sum + harnesses.size, 0),
			streams: ends.reduce((sum, {streams}) => sum + streams.size, 0),
			nodes: this.cluster.nodes(),
			nats: this.cluster.natsStatus(),
		};
	}

	/**
	 * Refuses newcomers and sends executors without clients to other nodes; settles when no streams are left or the time is over.
	 * The hub goes on until `close`.
	 */
	async drain(timeoutMs: number): Promise<void> {
		this.#isDraining = true;
		this.cluster.drain();
		// Its own work keeps executors busy, and goes on elsewhere or later.
		await this.#extension?.close();
		const deadline = performance.now() + timeoutMs;
		for (;;) {
			this.relay.disconnectIdle();
			if (this.isIdle || performance.now() >= deadline || this.#closing) break;
			await delay(DRAIN_LOOK_MS);
		}
		this.#drained.resolve();
	}

	/** Settles when a drain is over. */
	get drained(): Promise<void> {
		return this.#drained.promise;
	}

	/** Whether no client uses this node. */
	get isIdle(): boolean {
		const {streams, nats} = this.status();
		return streams === 0 && (nats?.links ?? 0) === 0;
	}

	/** Refuses newcomers and disconnects everybody; state is on disk already. */
	close(): Promise<void> {
		this.#closing ??= this.#close();
		return this.#closing;
	}

	async #close(): Promise<void> {
		this.#isDraining = true;
		await this.#extension?.close();
		clearInterval(this.#revocationTimer);
		this.#upgrades.close();
		await this.relay.close();
		this.#gateway?.close();
		this.#pages.terminateAll();
		this.#environments.close();
		// Until all have answered to the close, newcomers are told to come back later.
		await waitAtMost(whenAllClosed(this.#upgraded), CLOSE_GRACE_MS);
		await new Promise<void>(resolve => {
			this.#server.close(() => resolve());
			this.#server.closeAllConnections();
			for (const socket of this.#upgraded) socket.destroy();
		});
		await this.#control.close();
		await this.cluster.close();
		await this.#backend.close();
	}

	#createServer(connections: HubConnections): Server {
		const timeouts = {
			headersTimeout: REQUEST_TIMEOUT_MS,
			requestTimeout: REQUEST_TIMEOUT_MS,
			connectionsCheckingInterval: CONNECTION_CHECK_MS,
			noDelay: true,
		};
		const {tls} = this.#options;
		const server = tls ? createTlsServer(tls, timeouts).server : createServer(timeouts);
		server.on('connection', (socket: Socket) => connections.add(socket));
		server.on('request', (request, response) => void this.#handle(request, response));
		server.on('upgrade', (request, socket, head) => void this.#upgrade(request, socket, head));
		return server;
	}

	async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
		response.on('close', () => this.#metrics.recordRequest(response.statusCode));
		if (this.#isForSite(request)) return this.#pages.answer(request, response);
		try {
			const {pathname, searchParams} = urlOf(request);
			if (pathname === '/readyz') return this.#tellReadiness(response);
			this.#requireHost(request);
			if (this.#extension?.owns(pathname))
				return await this.#extension.handle(request, response, pathname, searchParams);
			if (this.#extension) limitBody(request);
			if (pathname === '/metrics') return await this.#tellMetrics(request, response);
			const isAnswered =
				(await this.#registry.handle(request, response, pathname)) ||
				(await this.#environments.handle(request, response, pathname, searchParams)) ||
				(await this.#gateway?.handle(request, response, pathname));
			if (!isAnswered) throw new HubRefusal(404, 'not_found', 'there is nothing here');
		} catch (error) {
			const refusal = this.#toRefusal(error);
			// Neither the query nor a header: both may hold secrets.
			const {pathname: path} = urlOf(request);
			this.#logger.debug('request refused', {path, status: refusal.status, code: refusal.code});
			if (response.headersSent) {
				response.destroy();
				return;
			}
			await discardBody(request);
			sendRefusal(response, refusal);
		}
	}

	#toRefusal(error: unknown): HubRefusal {
		const refusal =
			error instanceof HubRefusal ? error : new HubRefusal(503, 'unavailable', 'the hub cannot answer now');
		if (refusal !== error) this.#logger.error('a request failed', {error: errorMessage(error)});
		this.#metrics.recordRefusal(refusal.code);
		return refusal;
	}

	async #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
		socket.on('error', () => socket.destroy());
		this.#upgraded.add(socket);
		socket.once('close', () => this.#upgraded.delete(socket));
		const {pathname, searchParams} = urlOf(request);
		if (this.#isDraining) return refuseUpgrade(socket, 503, 'pod_draining');
		if (this.#isForSite(request)) return this.#pages.upgrade(request, socket, head);
		if (!this.#isKnownHost(request.headers.host)) return refuseUpgrade(socket, 421, 'unknown_route');
		// Pages of browsers have no business here.
		if (request.headers.origin !== undefined) return refuseUpgrade(socket, 403, 'unknown_route');
		// Checked before anything is prepared at an executor, which the library would do too late.
		const malformed = upgradeStatusOf(request);
		if (malformed !== undefined) return refuseUpgrade(socket, malformed, 'unknown_route');
		try {
			if (pathname === '/relay') await this.#upgrades.handle(request, socket, head, searchParams);
			else if (!(await this.#gateway?.upgrade(request, socket, head, pathname))) {
				refuseUpgrade(socket, 404, 'unknown_route');
			}
		} catch (error) {
			const {status, code} = this.#toRefusal(error);
			refuseUpgrade(socket, status, code);
		}
	}

	#isForSite(request: IncomingMessage): boolean {
		const {site} = this.#options;
		return site !== undefined && isForSite(site, request);
	}

	#requireHost({headers}: IncomingMessage): void {
		if (headers.origin !== undefined) throw new HubRefusal(403, 'forbidden', 'pages of browsers are not served');
		if (this.#isKnownHost(headers.host)) return;
		throw new HubRefusal(421, 'forbidden', 'this hub is not known by the name in the Host header');
	}

	#tellReadiness(response: ServerResponse): void {
		response.writeHead(this.#isDraining ? 503 : 200, {'content-type': 'text/plain'});
		response.end(this.#isDraining ? 'draining\n' : 'ok\n');
	}

	/** For those who may use every environment: they could count as well. */
	async #tellMetrics(request: IncomingMessage, response: ServerResponse): Promise<void> {
		const {pattern, tenant} = await this.access.requireToken(request, 'client');
		if (pattern !== '*') throw new HubRefusal(403, 'forbidden', 'metrics are for a token with the pattern *');
		response.writeHead(200, {'content-type': METRICS_TYPE, 'cache-control': 'no-store'});
		// The default tenant is the one of the hub's owner.
		response.end(tenant === DEFAULT_TENANT ? this.#metrics.render() : this.#metrics.renderTenant(tenant));
	}

	/** An answer goes back to the one who asked, so its own word for our address will do. */
	#socketOrigin(request: IncomingMessage): string {
		const {publicUrl, tls} = this.#options;
		const {headers} = request;
		// Other nodes behind the public address do not know tokens of this one for itself.
		const isOwn = this.internalTokens.isInternal(bearerOf(request));
		if (publicUrl !== undefined && !isOwn) return publicUrl.replace(/\/+$/, '').replace(/^http/, 'ws');
		return `${tls ? 'wss' : 'ws'}://${headers.host ?? 'localhost'}`;
	}

	#disconnectRevoked(): void {
		try {
			const good = this.internalTokens.goodIds();
			const isGood = (id: string): boolean => good.has(id);
			this.relay.disconnectRevoked(isGood);
			this.#environments.disconnectRevoked(isGood);
			this.#gateway?.disconnectRevoked(isGood);
		} catch (error) {
			this.#logger.error('the tokens cannot be read', {error: errorMessage(error)});
		}
	}
}

async function whenAllClosed(sockets: Iterable<Duplex>): Promise<void> {
	await Promise.all([...sockets].map(socket => new Promise(resolve => socket.once('close', resolve))));
}
