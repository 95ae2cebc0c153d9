import {createServer, type IncomingMessage, type Server, type ServerResponse} from 'node:http';
import type {AddressInfo} from 'node:net';
import {join} from 'node:path';
import type {Duplex} from 'node:stream';
import {errorMessage} from '../shared/errors.js';
import {type Logger, silentLogger} from '../shared/logger.js';
import {createHostCheck} from '../transports/node/host-header.js';
import type {PeerTimes} from '../transports/node/peer-times.js';
import {loadNoiseKeys} from '../transports/node/relay/key-file.js';
import {createTlsServer, replaceIdentity, type TlsIdentity} from '../transports/node/tls-server.js';
import {HubAccess, type HubAccessOptions} from './access/hub-access.js';
import {ControlSocket} from './control-socket.js';
import {EnvironmentRoutes} from './environment-routes.js';
import {Gateway} from './gateway/gateway.js';
import {HubRefusal, sendRefusal} from './http-exchange.js';
import {HubMetrics} from './hub-metrics.js';
import {RegistryRoutes} from './registry/registry-routes.js';
import {RegistryService} from './registry/registry-service.js';
import {Relay} from './relay/relay.js';
import {RelayUpgrades, refuseUpgrade} from './relay/relay-upgrades.js';
import {FileStore} from './store/file-store.js';
import type {HubStore} from './store/hub-store.js';
import {HubTokens} from './store/hub-tokens.js';

/** How long a client may take to send a request. */
const REQUEST_TIMEOUT_MS = 10_000;
/** Connections of all kinds. */
export const MAX_HUB_CONNECTIONS = 20_000;

/** How often tokens are looked at; sockets of a revoked one are closed then. */
const REVOCATION_CHECK_MS = 2000;
/** How long peers may take to answer to a close when the hub ends. */
const CLOSE_GRACE_MS = 1000;
const GATEWAY_KEY_FILE = 'gateway-key.json';
const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

export interface HubOptions {
	readonly host: string;
	readonly port: number;
	/** Directory of the state and the tokens. */
	readonly data: string;
	/** Address that executors and clients reach this hub by, such as `https://hub.example`; by default that of their request. */
	readonly publicUrl?: string | undefined;
	readonly tls?: TlsIdentity | undefined;
	/** Names in the `Host` header that are served besides addresses, without TLS. */
	readonly allowHosts?: readonly string[] | undefined;
	/** Whether clients that know no registry are served, too, which ends the encryption here. */
	readonly hasGateway?: boolean | undefined;
	readonly rates?: HubAccessOptions['rates'];
	readonly peerTimes?: PeerTimes | undefined;
	readonly logger?: Logger | undefined;
}

/** Registry and relay in one process. */
export class Hub {
	readonly relay: Relay;
	readonly tokens: HubTokens;
	readonly #options: HubOptions;
	readonly #logger: Logger;
	readonly #store: HubStore;
	readonly #server: Server;
	readonly #access: HubAccess;
	readonly #metrics: HubMetrics;
	readonly #registry: RegistryRoutes;
	readonly #environments: EnvironmentRoutes;
	readonly #upgrades: RelayUpgrades;
	readonly #gateway: Gateway | undefined;
	readonly #control: ControlSocket;
	readonly #isKnownHost: (header: string | undefined) => boolean;
	#revocationTimer: NodeJS.Timeout | undefined;
	#isDraining = false;
	#closing: Promise<void> | undefined;

	/** Opens the state; throws `STATE_UNUSABLE`. */
	constructor(options: HubOptions) {
		this.#options = options;
		const logger = options.logger ?? silentLogger;
		this.#logger = logger;
		const store = new FileStore(options.data);
		this.#store = store;
		const tokens = new HubTokens(options.data);
		this.tokens = tokens;
		const access = new HubAccess({tokens, logger, rates: options.rates});
		this.#access = access;
		const relay = new Relay({changed: (id, isOnline) => this.#environments.tell(id, isOnline)});
		this.relay = relay;
		const metrics = new HubMetrics(relay);
		this.#metrics = metrics;
		const service = new RegistryService(store, id => relay.findExecutor(id));
		const socketOrigin = (request: IncomingMessage): string => this.#socketOrigin(request);
		const shared = {service, relay, access, socketOrigin, ticketSecret: store.ticketSecret, logger};
		this.#registry = new RegistryRoutes({
			...shared,
			isDraining: () => this.#isDraining,
			onReplaced: id => this.#disconnectReplaced(id),
		});
		this.#environments = new EnvironmentRoutes({store, relay, access});
		this.#gateway = options.hasGateway
			? new Gateway({...shared, keys: loadNoiseKeys(join(options.data, GATEWAY_KEY_FILE))})
			: undefined;
		this.#upgrades = new RelayUpgrades({
			...shared,
			metrics,
			peerTimes: options.peerTimes,
			isGoodToken: id => tokens.isGood(id),
			plainExecutors: this.#gateway?.plainExecutors,
		});
		this.#control = new ControlSocket({
			directory: options.data,
			environments: this.#environments,
			metrics: () => metrics.render(),
			logger,
		});
		this.#isKnownHost = options.tls ? () => true : createHostCheck(options.host, options.allowHosts ?? []);
		this.#server = this.#createServer();
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

	/** Refuses newcomers and disconnects everybody; state is on disk already. */
	close(): Promise<void> {
		this.#closing ??= this.#close();
		return this.#closing;
	}

	async #close(): Promise<void> {
		this.#isDraining = true;
		clearInterval(this.#revocationTimer);
		await this.relay.close();
		this.#gateway?.close();
		this.#environments.close();
		const timer = setTimeout(() => this.#upgrades.destroyAll(), CLOSE_GRACE_MS);
		await new Promise<void>(resolve => {
			this.#server.close(() => resolve());
			this.#server.closeAllConnections();
		});
		clearTimeout(timer);
		await this.#control.close();
		await this.#store.close();
	}

	#createServer(): Server {
		const timeouts = {headersTimeout: REQUEST_TIMEOUT_MS, requestTimeout: REQUEST_TIMEOUT_MS, noDelay: true};
		const {tls} = this.#options;
		const server = tls ? createTlsServer(tls, timeouts).server : createServer(timeouts);
		server.maxConnections = MAX_HUB_CONNECTIONS;
		server.on('request', (request, response) => void this.#handle(request, response));
		server.on('upgrade', (request, socket, head) => void this.#upgrade(request, socket, head));
		return server;
	}

	async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
		response.on('close', () => this.#metrics.recordRequest(response.statusCode));
		try {
			const {pathname, searchParams} = urlOf(request);
			if (pathname === '/readyz') return this.#tellReadiness(response);
			this.#requireHost(request);
			if (pathname === '/metrics') return this.#tellMetrics(request, response);
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
			if (response.headersSent) response.destroy();
			else sendRefusal(response, refusal);
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
		const {pathname, searchParams} = urlOf(request);
		if (this.#isDraining) return refuseUpgrade(socket, 503, 'pod_draining');
		if (!this.#isKnownHost(request.headers.host)) return refuseUpgrade(socket, 421, 'unknown_route');
		// Pages of browsers have no business here.
		if (request.headers.origin !== undefined) return refuseUpgrade(socket, 403, 'unknown_route');
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
	#tellMetrics(request: IncomingMessage, response: ServerResponse): void {
		const {pattern} = this.#access.requireToken(request, 'client');
		if (pattern !== '*') throw new HubRefusal(403, 'forbidden', 'metrics are for a token with the pattern *');
		response.writeHead(200, {'content-type': METRICS_TYPE, 'cache-control': 'no-store'});
		response.end(this.#metrics.render());
	}

	/** An answer goes back to the one who asked, so its own word for our address will do. */
	#socketOrigin({headers}: IncomingMessage): string {
		const {publicUrl, tls} = this.#options;
		if (publicUrl !== undefined) return publicUrl.replace(/\/+$/, '').replace(/^http/, 'ws');
		return `${tls ? 'wss' : 'ws'}://${headers.host ?? 'localhost'}`;
	}

	#disconnectRevoked(): void {
		try {
			const good = this.tokens.goodIds();
			const isGood = (id: string): boolean => good.has(id);
			this.relay.disconnectRevoked(isGood);
			this.#environments.disconnectRevoked(isGood);
			this.#gateway?.disconnectRevoked(isGood);
		} catch (error) {
			this.#logger.error('the tokens cannot be read', {error: errorMessage(error)});
		}
	}

	#disconnectReplaced(environmentId: string): void {
		const executor = this.relay.findExecutor(environmentId);
		if (executor) this.relay.removeExecutor(executor);
	}
}

/** The host is the client's word and not used here. */
function urlOf({url = '/'}: IncomingMessage): URL {
	return URL.canParse(url, 'http://hub') ? new URL(url, 'http://hub') : new URL('http://hub/');
}
