import {matchesPool, type PoolSelector} from '../../protocol/relay/pool-selector.js';
import type {RelayKey} from '../../protocol/relay/relay-keys.js';
import type {HubCluster} from '../cluster/hub-cluster.js';
import type {ConnectOutcome, RegistryService} from '../registry/registry-service.js';
import type {RegistrationRecord, TokenRecord} from '../store/hub-records.js';
import type {HubStore} from '../store/hub-store.js';
import {coversEnvironment} from '../store/hub-tokens.js';
import {slotsInUse} from './pending-picks.js';

/** Executors that are asked for one client: leases may tell of some that have gone, or are full by now. */
const MAX_PICKS = 8;

export type PlaceOutcome =
	| Extract<ConnectOutcome, {kind: 'granted'}>
	/** There are members, and all that were asked have as many slots in use as they have. */
	| {readonly kind: 'full'}
	/** No member that the token covers is connected and takes clients. */
	| {readonly kind: 'empty'};

export interface PoolPlacerOptions {
	readonly store: HubStore;
	readonly cluster: HubCluster;
	readonly service: RegistryService;
}

/** A member of a pool, with its load as of some seconds ago. */
interface Member {
	readonly registration: RegistrationRecord;
	readonly slots: number;
	readonly used: number;
}

/**
 * Chooses an executor for a client that names a pool or labels: of two that have room, the one with the smaller share of its
 * slots in use. Comparing two instead of all keeps nodes that decide at the same time from sending everybody to one. Leases
 * tell whom to ask; the node of the executor decides.
 */
export class PoolPlacer {
	readonly #options: PoolPlacerOptions;

	constructor(options: PoolPlacerOptions) {
		this.#options = options;
	}

	async place(selector: PoolSelector, token: TokenRecord, harnessKey: RelayKey): Promise<PlaceOutcome> {
		const {cluster, service} = this.#options;
		const members = await this.#findMembers(selector, token);
		let hasFull = members.length > MAX_PICKS;
		for (let asked = 0; asked < MAX_PICKS && members.length > 0; asked++) {
			const {registration, slots} = takeNext(members);
			const answer = await cluster.pick(registration, {
				registrationId: registration.registrationId,
				slots,
				tokenId: token.id,
			});
			if (answer === 'full') hasFull = true;
			if (answer !== 'picked') continue;
			const outcome = await service.connect(registration, harnessKey, {tokenId: token.id, isPlaced: true});
			if (outcome.kind === 'granted') return outcome;
		}
		return {kind: hasFull ? 'full' : 'empty'};
	}

	async #findMembers(selector: PoolSelector, token: TokenRecord): Promise<Member[]> {
		const {store, cluster} = this.#options;
		const members: Member[] = [];
		for (const registration of await store.listRegistrations(token.tenant)) {
			const {registrationId, environmentId, labels = {}, pools = [], slots} = registration;
			if (slots === undefined || !matchesPool(selector, {pools, labels})) continue;
			if (!coversEnvironment(token, environmentId)) continue;
			// Only leases of members are looked at: a list of all would cost every lookup as much as the whole fleet.
			const lease = cluster.findLease(registration);
			if (lease?.registrationId !== registrationId) continue;
			members.push({registration, slots, used: slotsInUse(lease.load, lease.streams)});
		}
		return members;
	}
}

/** The less loaded of two, which have room as long as there are such members; it is taken out of the list. */
function takeNext(members: Member[]): Member {
	const withRoom = members.filter(({used, slots}) => used < slots);
	const choices = withRoom.length > 0 ? withRoom : members;
	const first = Math.floor(Math.random() * choices.length);
	const step = 1 + Math.floor(Math.random() * (choices.length - 1));
	const [one, other] = [choices[first]!, choices[(first + step) % choices.length]!];
	const chosen = other.used / other.slots < one.used / one.slots ? other : one;
	members.splice(members.indexOf(chosen), 1);
	return chosen;
}
