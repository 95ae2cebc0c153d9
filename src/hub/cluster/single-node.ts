import {randomId} from '../../shared/random-id.js';
import type {PickAnswer} from '../pools/pending-picks.js';
import type {JoiningEnd, Relay} from '../relay/relay.js';
import type {ExecutorEnd} from '../relay/relay-ends.js';
import type {EnvironmentPlace} from '../store/hub-records.js';
import type {
	ClusterParts,
	ExecutorLease,
	HarnessRoute,
	HubCluster,
	NodeStatus,
	RouteTarget,
	WantedSlot,
} from './hub-cluster.js';
import {LocalRoute} from './local-route.js';

const nothing = (): void => {};

/** A hub of one node: everybody is here, or nowhere. */
export class SingleNode implements HubCluster {
	readonly nodeId = randomId();
	readonly #relay: Relay;
	readonly #changed: ClusterParts['changed'];
	#isDraining = false;

	constructor({relay, changed}: ClusterParts) {
		this.#relay = relay;
		this.#changed = changed;
	}

	async isOnline(_place: EnvironmentPlace, registrationId: string): Promise<boolean> {
		return this.#relay.findRegistration(registrationId) !== undefined;
	}

	async pick(_place: EnvironmentPlace, {registrationId, slots, tokenId}: WantedSlot): Promise<PickAnswer> {
		const executor = this.#relay.findRegistration(registrationId);
		return executor ? executor.picks.pick(executor, slots, tokenId) : 'gone';
	}

	async announce(_joining: JoiningEnd): Promise<() => void> {
		return nothing;
	}

	executorChanged(executor: ExecutorEnd): void {
		this.#changed(executor, this.#relay.findExecutor(executor.environmentId, executor.tenant) !== undefined);
	}

	loadChanged(_executor: ExecutorEnd): void {}

	dismiss(_place: EnvironmentPlace, registrationId: string): void {
		const executor = this.#relay.findRegistration(registrationId);
		if (executor) this.#relay.removeExecutor(executor);
	}

	async openRoute({registrationId, tokenId}: RouteTarget): Promise<HarnessRoute | undefined> {
		const executor = this.#relay.findRegistration(registrationId);
		return executor && new LocalRoute(this.#relay, executor, tokenId);
	}

	leases(tenant?: string): readonly ExecutorLease[] {
		const all = [...this.#relay.executors()];
		const own = tenant === undefined ? all : all.filter(executor => executor.tenant === tenant);
		return own.map(executor => leaseOf(executor, this.nodeId, this.#isDraining));
	}

	findLease({environmentId, tenant}: EnvironmentPlace): ExecutorLease | undefined {
		const executor = this.#relay.findExecutor(environmentId, tenant);
		return executor && leaseOf(executor, this.nodeId, this.#isDraining);
	}

	nodes(): readonly NodeStatus[] {
		const executors = [...this.#relay.executors()].length;
		return [{id: this.nodeId, isSelf: true, isAlive: true, isDraining: this.#isDraining, executors}];
	}

	natsStatus(): null {
		return null;
	}

	drain(): void {
		this.#isDraining = true;
	}

	async close(): Promise<void> {}
}

/** Lease of an executor that is connected to this node. */
export function leaseOf(executor: ExecutorEnd, node: string, isDraining: boolean): ExecutorLease {
	const {tenant, environmentId, registrationId, streams, load, since} = executor;
	return {
		tenant,
		environmentId,
		registrationId,
		node,
		streams: streams.size,
		load,
		isDraining,
		onlineForMs: Math.round(performance.now() - since),
	};
}
