import type {IncomingMessage, ServerResponse} from 'node:http';
import type {ExecutorLoad} from '../protocol/relay/executor-offer.js';
import {matchesPool, type PoolSelector, parsePoolSelector} from '../protocol/relay/pool-selector.js';
import {findSurplus} from '../shared/fair-share.js';
import type {EnvironmentLabels} from '../shared/labels.js';
import type {HubAccess} from './access/hub-access.js';
import type {HubCluster} from './cluster/hub-cluster.js';
import type {PlainExecutor} from './gateway/plain-executors.js';
import {HubRefusal, sendJson} from './http-exchange.js';
import {slotsInUse} from './pools/pending-picks.js';
import {fingerprintOfKey} from './registry/registry-service.js';
import {
	DEFAULT_TENANT,
	type EnvironmentPlace,
	keyOfPlace,
	type RegistrationRecord,
	type TokenRecord,
} from './store/hub-records.js';
import type {HubStore} from './store/hub-store.js';
import {coversEnvironment} from './store/hub-tokens.js';

/** Clients that follow the list at once. */
export const MAX_WATCHERS = 1000;
/** Bytes that wait for a follower; beyond them it is disconnected, and asks again. */
const MAX_WATCHER_BACKLOG_BYTES = 1024 * 1024;

/** An environment, as clients see it. */
export interface ListedEnvironment {
	readonly id: string;
	/** Left out for the default one. */
	readonly tenant?: string;
	readonly isOnline: boolean;
	/** Fingerprint of the executor's key; `none` for one of upstream's first versions, which has no key. */
	readonly key: string;
	readonly streams: number;
	readonly onlineForMs: number | null;
	readonly pools: readonly string[];
	readonly labels: EnvironmentLabels;
	/** Null for an executor that has told none. */
	readonly slots: number | null;
	/** Slots in use; null for one that is offline or has no slots. */
	readonly used: number | null;
	/** Null for one that is offline or tells nothing. */
	readonly state: ExecutorLoad['state'] | null;
}

interface Watcher {
	readonly token: TokenRecord;
	readonly response: ServerResponse;
}

export interface EnvironmentRoutesOptions {
	readonly store: HubStore;
	readonly cluster: HubCluster;
	readonly access: HubAccess;
	/** Executors of upstream's first versions; they are nowhere else. */
	readonly plainExecutors: (tenant?: string) => readonly PlainExecutor[];
}

/** `GET /environments`: those a client may use, once or with `?watch=1` as JSON lines from now on. */
export class EnvironmentRoutes {
	readonly #options: EnvironmentRoutesOptions;
	readonly #watchers = new Set<Watcher>();
	readonly #fingerprints = new WeakMap<RegistrationRecord['key'], string>();

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
		const token = await this.#options.access.requireToken(request, 'client');
		const selector = readSelector(query);
		const environments = (await this.list(token.tenant)).filter(
			environment => coversEnvironment(token, environment.id) && (!selector || matchesPool(selector, environment)),
		);
		if (query.get('watch') === null) sendJson(response, 200, {environments});
		else this.#watch({token, response}, environments);
		return true;
	}

	/** Environments of one tenant, or of all of them. */
	async list(tenant?: string): Promise<readonly ListedEnvironment[]> {
		const known = await this.#options.store.listRegistrations(tenant);
		const plain = new Map(this.#options.plainExecutors(tenant).map(executor => [keyOfPlace(executor.place), executor]));
		const listed = known.map(registration => {
			const environment = this.#describe(registration);
			const other = plain.get(keyOfPlace(registration));
			plain.delete(keyOfPlace(registration));
			return other && !environment.isOnline ? describePlain(other) : environment;
		});
		return [...listed, ...[...plain.values()].map(describePlain)];
	}

	/** Disconnects followers whose tokens are no longer good. */
	disconnectRevoked(isGood: (tokenId: string) => boolean): void {
		for (const {token, response} of this.#watchers) if (!isGood(token.id)) response.destroy();
	}

	/** Tells followers that an executor came or went. */
	tell({tenant, environmentId}: EnvironmentPlace, isOnline: boolean): void {
		const line = `${JSON.stringify({id: environmentId, isOnline})}\n`;
		for (const watcher of this.#watchers) {
			const {token} = watcher;
			if (token.tenant !== tenant || !coversEnvironment(token, environmentId)) continue;
			watcher.response.write(line);
			if (watcher.response.writableLength > MAX_WATCHER_BACKLOG_BYTES) watcher.response.destroy();
		}
	}

	close(): void {
		for (const {response} of this.#watchers) response.destroy();
	}

	#watch(watcher: Watcher, environments: readonly ListedEnvironment[]): void {
		const {response, token} = watcher;
		if (this.#watchers.size >= MAX_WATCHERS) {
			const surplus = findSurplus(this.#watchers, each => each.token.id, token.id);
			if (!surplus) throw new HubRefusal(503, 'unavailable', 'too many clients watch already');
			this.#watchers.delete(surplus);
			surplus.response.destroy();
		}
		// The client may have hung up while the list was made: no event follows.
		if (response.destroyed) return;
		response.writeHead(200, {'content-type': 'application/jsonl', 'cache-control': 'no-store'});
		// A list that is empty has no first line that the headers could go with.
		response.flushHeaders();
		for (const {id, isOnline} of environments) response.write(`${JSON.stringify({id, isOnline})}\n`);
		this.#watchers.add(watcher);
		response.on('close', () => this.#watchers.delete(watcher));
	}

	/** A list of thousands would take as many digests otherwise. */
	#fingerprintOf(key: RegistrationRecord['key']): string {
		const known = this.#fingerprints.get(key) ?? fingerprintOfKey(key);
		this.#fingerprints.set(key, known);
		return known;
	}

	#describe(registration: RegistrationRecord): ListedEnvironment {
		const {tenant, environmentId: id, registrationId, key, labels = {}, pools = [], slots = null} = registration;
		const lease = this.#options.cluster.findLease({tenant, environmentId: id});
		const isOnline = lease?.registrationId === registrationId;
		return {
			id,
			...(tenant !== DEFAULT_TENANT && {tenant}),
			isOnline,
			key: this.#fingerprintOf(key),
			streams: isOnline ? lease.streams : 0,
			onlineForMs: isOnline ? lease.onlineForMs : null,
			pools,
			labels,
			slots,
			used: isOnline && slots !== null ? slotsInUse(lease.load, lease.streams) : null,
			state: (isOnline && lease.load?.state) || null,
		};
	}
}

const NO_OFFER = {pools: [], labels: {}, slots: null, used: null, state: null} as const;

/** It serves one client at a time. */
function describePlain({place: {tenant, environmentId: id}, since, client}: PlainExecutor): ListedEnvironment {
	return {
		id,
		...(tenant !== DEFAULT_TENANT && {tenant}),
		isOnline: true,
		key: 'none',
		streams: client ? 1 : 0,
		onlineForMs: Math.round(performance.now() - since),
		...NO_OFFER,
	};
}

/** `select=pool:gpu`; undefined without it. Throws a `HubRefusal`. */
function readSelector(query: URLSearchParams): PoolSelector | undefined {
	const text = query.get('select');
	if (text === null) return undefined;
	const selector = parsePoolSelector(text);
	if (selector) return selector;
	throw new HubRefusal(400, 'bad_request', 'the selector is none: expected pool:NAME or @KEY=VALUE+KEY=VALUE');
}
