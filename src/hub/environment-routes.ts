import type {IncomingMessage, ServerResponse} from 'node:http';
import type {HubAccess} from './access/hub-access.js';
import {HubRefusal, sendJson} from './http-exchange.js';
import {fingerprintOfKey} from './registry/registry-service.js';
import type {Relay} from './relay/relay.js';
import type {RegistrationRecord, TokenRecord} from './store/hub-records.js';
import type {HubStore} from './store/hub-store.js';
import {coversEnvironment} from './store/hub-tokens.js';

/** Clients that follow the list at once. */
export const MAX_WATCHERS = 1000;
/** Bytes that wait for a follower; beyond them it is disconnected, and asks again. */
const MAX_WATCHER_BACKLOG_BYTES = 1024 * 1024;

/** An environment, as clients see it. */
export interface ListedEnvironment {
	readonly id: string;
	readonly isOnline: boolean;
	/** Fingerprint of the executor's key. */
	readonly key: string;
	readonly streams: number;
	readonly onlineForMs: number | null;
}

interface Watcher {
	readonly token: TokenRecord;
	readonly response: ServerResponse;
}

export interface EnvironmentRoutesOptions {
	readonly store: HubStore;
	readonly relay: Relay;
	readonly access: HubAccess;
}

/** `GET /environments`: those a client may use, once or with `?watch=1` as JSON lines from now on. */
export class EnvironmentRoutes {
	readonly #options: EnvironmentRoutesOptions;
	readonly #watchers = new Set<Watcher>();

	constructor(options: EnvironmentRoutesOptions) {
		this.#options = options;
	}

	/** False for a path that is none of its own. Throws a `HubRefusal`. */
	async handle(
		request: IncomingMessage,
		response: ServerResponse,
		path: string,
		query: URLSearchParams,
	): Promise<boolean> {
		if (path !== '/environments') return false;
		if (request.method !== 'GET') throw new HubRefusal(405, 'bad_request', 'only GET is answered here');
		const token = this.#options.access.requireToken(request, 'client');
		const environments = (await this.listAll()).filter(({id}) => coversEnvironment(token, id));
		if (query.get('watch') === null) sendJson(response, 200, {environments});
		else this.#watch({token, response}, environments);
		return true;
	}

	async listAll(): Promise<readonly ListedEnvironment[]> {
		const known = await this.#options.store.listRegistrations();
		return known.map(registration => this.#describe(registration));
	}

	/** Disconnects followers whose tokens are no longer good. */
	disconnectRevoked(isGood: (tokenId: string) => boolean): void {
		for (const {token, response} of this.#watchers) if (!isGood(token.id)) response.destroy();
	}

	/** Tells followers that an executor came or went. */
	tell(environmentId: string, isOnline: boolean): void {
		const line = `${JSON.stringify({id: environmentId, isOnline})}\n`;
		for (const watcher of this.#watchers) {
			if (!coversEnvironment(watcher.token, environmentId)) continue;
			watcher.response.write(line);
			if (watcher.response.writableLength > MAX_WATCHER_BACKLOG_BYTES) watcher.response.destroy();
		}
	}

	close(): void {
		for (const {response} of this.#watchers) response.destroy();
	}

	#watch(watcher: Watcher, environments: readonly ListedEnvironment[]): void {
		if (this.#watchers.size >= MAX_WATCHERS) throw new HubRefusal(503, 'unavailable', 'too many clients watch already');
		const {response} = watcher;
		response.writeHead(200, {'content-type': 'application/jsonl', 'cache-control': 'no-store'});
		for (const {id, isOnline} of environments) response.write(`${JSON.stringify({id, isOnline})}\n`);
		this.#watchers.add(watcher);
		response.on('close', () => this.#watchers.delete(watcher));
	}

	#describe({environmentId: id, registrationId, key}: RegistrationRecord): ListedEnvironment {
		const executor = this.#options.relay.findExecutor(id);
		const isOnline = executor?.registrationId === registrationId;
		return {
			id,
			isOnline,
			key: fingerprintOfKey(key),
			streams: isOnline ? executor.streams.size : 0,
			onlineForMs: isOnline ? Math.round(performance.now() - executor.since) : null,
		};
	}
}
