import {setTimeout as delay} from 'node:timers/promises';
import type {Msg, Subscription} from '@nats-io/transport-node';
import * as v from 'valibot';
import {errorMessage} from '../../shared/errors.js';
import {randomId} from '../../shared/random-id.js';
import type {
	ClusterParts,
	ExecutorLease,
	HarnessRoute,
	HubCluster,
	NodeStatus,
	RouteTarget,
	WantedSlot,
} from '../cluster/hub-cluster.js';
import {LocalRoute} from '../cluster/local-route.js';
import {leaseOf} from '../cluster/single-node.js';
import type {NatsStatus} from '../hub-status-record.js';
import type {PickAnswer} from '../pools/pending-picks.js';
import type {JoiningEnd, Relay} from '../relay/relay.js';
import type {ExecutorEnd} from '../relay/relay-ends.js';
import {type EnvironmentPlace, keyOfPlace} from '../store/hub-records.js';
import {LeaseView} from './lease-view.js';
import {LeaseWriter} from './lease-writer.js';
import type {NatsBucket} from './nats-buckets.js';
import type {NatsLink} from './nats-link.js';
import type {NodeLink} from './node-link.js';
import {NodeLinks} from './node-links.js';
import {NodeWatch} from './node-watch.js';
import {RemoteHarness, RemoteRoute} from './remote-ends.js';
import {registrationOf, subjects} from './subjects.js';

/** How long an executor's node may take to answer; stock clients wait 6 s for the whole request. */
const ASK_TIMEOUT_MS = 1500;
/** How long the server may take to hear of an executor; that waits 10 s for its socket. */
const ANNOUNCE_TIMEOUT_MS = 5000;
/** News of a subscription may reach another server a moment late: an executor that has a lease is asked for again. */
const MAX_ASKS = 4;
const ASK_AGAIN_MS = 100;

/** Question to the node of an executor: is it there, has it a slot for a client, or open a link to it. */
const executorQuestion = v.variant('kind', [
	v.object({kind: v.literal('here')}),
	v.object({kind: v.literal('pick'), slots: v.number(), tokenId: v.optional(v.string(), '')}),
	v.object({kind: v.literal('open'), link: v.string(), node: v.string(), tokenId: v.string()}),
]);
type ExecutorQuestion = v.InferOutput<typeof executorQuestion>;

const executorAnswer = v.object({
	node: v.string(),
	/** `joining`: its socket is being let in; `refused`: it has too many clients. The others answer a pick. */
	kind: v.picklist(['here', 'joining', 'refused', 'picked', 'full', 'gone']),
});
type ExecutorAnswer = v.InferOutput<typeof executorAnswer>;

export interface NatsClusterOptions extends ClusterParts {
	readonly nats: NatsLink;
	readonly leases: NatsBucket;
}

/** One node of many: finds executors at the others, and passes frames to and from them over NATS. */
export class NatsCluster implements HubCluster {
	readonly nodeId = randomId();
	readonly links: NodeLinks;
	readonly #nats: NatsLink;
	readonly #relay: Relay;
	readonly #changed: ClusterParts['changed'];
	readonly #writer: LeaseWriter;
	readonly #view: LeaseView;
	readonly #watch: NodeWatch;
	/** Links of clients at this node, by the registration of their executor. */
	readonly #routes = new Map<string, Set<NodeLink>>();
	readonly #subscriptions = new Map<string, Subscription>();
	/** Sockets that are being let in, by registration. */
	readonly #joining = new Map<string, number>();
	readonly #stopListening: () => void;
	#isDraining = false;

	constructor({nats, leases, relay, changed, logger}: NatsClusterOptions) {
		this.#nats = nats;
		this.#relay = relay;
		this.#changed = changed;
		const {nodeId} = this;
		this.links = new NodeLinks(nats, nodeId);
		this.#writer = new LeaseWriter(leases, nodeId, logger);
		this.#view = new LeaseView(leases, {ownNode: nodeId, changed, logger});
		this.#watch = new NodeWatch({
			nats,
			links: this.links,
			nodeId,
			known: () => this.#view.nodes().keys(),
			gone: node => this.#nodeGone(node),
			logger,
		});
		nats.subscribe(subjects.allGone, message => this.#executorGone(message));
		this.#stopListening = nats.onRestored(() => this.#writer.renewAll());
		this.#view.load().catch((error: unknown) => {
			logger.warn('leases cannot be read now', {error: errorMessage(error)});
		});
	}

	async isOnline(place: EnvironmentPlace, registrationId: string): Promise<boolean> {
		if (this.#relay.findRegistration(registrationId)) return true;
		return (await this.#ask(place, registrationId, {kind: 'here'})) !== undefined;
	}

	async pick(place: EnvironmentPlace, {registrationId, slots, tokenId}: WantedSlot): Promise<PickAnswer> {
		const local = this.#relay.findRegistration(registrationId);
		if (local) return local.picks.pick(local, slots, tokenId);
		const kind = (await this.#ask(place, registrationId, {kind: 'pick', slots, tokenId}))?.kind;
		return kind === 'picked' || kind === 'full' ? kind : 'gone';
	}

	async announce({registrationId}: JoiningEnd): Promise<() => void> {
		const count = (this.#joining.get(registrationId) ?? 0) + 1;
		this.#joining.set(registrationId, count);
		this.#subscribe(registrationId);
		// Clients of a former socket, which its node may not know to be dead, are disconnected first.
		this.#nats.publish(subjects.gone(registrationId), this.nodeId);
		this.#dropRoutes(registrationId, this.nodeId);
		const withdraw = (): void => {
			this.#joined(registrationId);
			this.#unsubscribeUnused(registrationId);
		};
		if (await this.#nats.isAnswering(ANNOUNCE_TIMEOUT_MS)) return withdraw;
		withdraw();
		throw new Error('the NATS server does not answer');
	}

	executorChanged(executor: ExecutorEnd): void {
		const {registrationId} = executor;
		const isOnline = this.#relay.findRegistration(registrationId) === executor;
		if (isOnline) {
			this.#joined(registrationId);
			this.#subscribe(registrationId);
		} else this.#unsubscribeUnused(registrationId);
		this.#writer.changed(executor, isOnline);
		this.#changed(executor, this.findLease(executor) !== undefined);
	}

	loadChanged(executor: ExecutorEnd): void {
		this.#writer.loadChanged(executor);
	}

	dismiss(_place: EnvironmentPlace, registrationId: string): void {
		this.#removeLocal(registrationId);
		this.#dropRoutes(registrationId, '');
		this.#nats.publish(subjects.gone(registrationId), '');
	}

	async openRoute(target: RouteTarget): Promise<HarnessRoute | undefined> {
		const {registrationId, tokenId} = target;
		const local = this.#relay.findRegistration(registrationId);
		if (local) return new LocalRoute(this.#relay, local, tokenId);
		const link = randomId();
		const answer = await this.#ask(target, registrationId, {kind: 'open', link, node: this.nodeId, tokenId});
		const opened = answer?.kind === 'here' ? this.links.add(link, answer.node) : undefined;
		if (!opened) return undefined;
		const routes = this.#routes.get(registrationId) ?? new Set();
		this.#routes.set(registrationId, routes.add(opened));
		return new RemoteRoute(opened, () => {
			routes.delete(opened);
			if (routes.size === 0 && this.#routes.get(registrationId) === routes) this.#routes.delete(registrationId);
		});
	}

	leases(tenant?: string): readonly ExecutorLease[] {
		const own = [...this.#relay.executors()].map(executor => this.#leaseOf(executor));
		const places = new Set(own.map(keyOfPlace));
		const all = [...own, ...this.#view.list().filter(lease => !places.has(keyOfPlace(lease)))];
		return tenant === undefined ? all : all.filter(lease => lease.tenant === tenant);
	}

	findLease(place: EnvironmentPlace): ExecutorLease | undefined {
		const local = this.#relay.findExecutor(place.environmentId, place.tenant);
		return local ? this.#leaseOf(local) : this.#view.find(place);
	}

	nodes(): readonly NodeStatus[] {
		const executors = [...this.#relay.executors()].length;
		const own = {id: this.nodeId, isSelf: true, isAlive: true, isDraining: this.#isDraining, executors};
		const others = [...this.#view.nodes()].map(([id, node]) => ({
			id,
			isSelf: false,
			isAlive: this.#watch.isAlive(id),
			...node,
		}));
		return [own, ...others];
	}

	natsStatus(): NatsStatus {
		const {server, version, isUp, lostCount} = this.#nats;
		return {
			server,
			version,
			isConnected: isUp,
			disconnects: lostCount,
			links: this.links.size,
			linkResets: this.links.resetCount,
			bytesOnTheWay: this.links.budget.total,
		};
	}

	drain(): void {
		this.#isDraining = true;
		this.#writer.drain();
	}

	async close(): Promise<void> {
		this.#stopListening();
		this.#watch.close();
		this.links.close();
		this.#view.close();
		await this.#writer.close();
	}

	#leaseOf(executor: ExecutorEnd): ExecutorLease {
		return leaseOf(executor, this.nodeId, this.#isDraining);
	}

	/** The answer of the node that has the executor; undefined if none has it. */
	async #ask(
		place: EnvironmentPlace,
		registrationId: string,
		question: ExecutorQuestion,
	): Promise<ExecutorAnswer | undefined> {
		for (let asked = 1; ; asked++) {
			const answer = await this.#nats.request(
				subjects.executor(registrationId),
				JSON.stringify(question),
				ASK_TIMEOUT_MS,
			);
			const parsed = answer.kind === 'answer' ? v.parse(executorAnswer, answer.message.json()) : undefined;
			if (parsed && parsed.kind !== 'joining') return parsed;
			const lease = this.#view.find(place);
			const hasLease = lease?.registrationId === registrationId && this.#watch.isAlive(lease.node);
			const mayCome = parsed !== undefined || hasLease;
			if (answer.kind === 'silence' || !mayCome || asked >= MAX_ASKS) return undefined;
			await delay(ASK_AGAIN_MS);
		}
	}

	#answer(message: Msg): void {
		const registrationId = registrationOf(message.subject);
		const executor = this.#relay.findRegistration(registrationId);
		const {success, output: question} = v.safeParse(executorQuestion, message.json());
		if (!success) return;
		const kind = executor ? this.#answerFor(executor, question) : 'joining';
		message.respond(JSON.stringify({node: this.nodeId, kind} satisfies ExecutorAnswer));
	}

	#answerFor(executor: ExecutorEnd, question: ExecutorQuestion): ExecutorAnswer['kind'] {
		switch (question.kind) {
			case 'here':
				return 'here';
			case 'pick':
				return executor.picks.pick(executor, question.slots, question.tokenId);
			case 'open':
				return this.#openLink(executor, question) ? 'here' : 'refused';
		}
	}

	#openLink(executor: ExecutorEnd, {link: id, node, tokenId}: {link: string; node: string; tokenId: string}): boolean {
		const link = this.links.add(id, node);
		if (link && RemoteHarness.join(this.#relay, executor, tokenId, link)) return true;
		link?.drop();
		return false;
	}

	/** The executor has a new socket at another node, or another executor has taken its place. */
	#executorGone(message: Msg): void {
		const node = message.string();
		if (node === this.nodeId) return;
		const registrationId = registrationOf(message.subject);
		this.#removeLocal(registrationId);
		this.#dropRoutes(registrationId, node);
	}

	/** Clients here whose executor was at another node than this one have to connect again. */
	#dropRoutes(registrationId: string, newNode: string): void {
		for (const link of this.#routes.get(registrationId) ?? []) if (link.node !== newNode) link.drop();
	}

	#removeLocal(registrationId: string): void {
		const executor = this.#relay.findRegistration(registrationId);
		if (executor) this.#relay.removeExecutor(executor);
	}

	#nodeGone(node: string): void {
		this.links.dropNode(node);
		this.#view.dropNode(node);
	}

	#subscribe(registrationId: string): void {
		if (this.#subscriptions.has(registrationId)) return;
		const subject = subjects.executor(registrationId);
		this.#subscriptions.set(
			registrationId,
			this.#nats.subscribe(subject, message => this.#answer(message)),
		);
	}

	#joined(registrationId: string): void {
		const left = (this.#joining.get(registrationId) ?? 0) - 1;
		if (left > 0) this.#joining.set(registrationId, left);
		else this.#joining.delete(registrationId);
	}

	#unsubscribeUnused(registrationId: string): void {
		if (this.#joining.has(registrationId) || this.#relay.findRegistration(registrationId)) return;
		this.#subscriptions.get(registrationId)?.unsubscribe();
		this.#subscriptions.delete(registrationId);
	}
}
