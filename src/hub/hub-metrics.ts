import {MetricsRegistry} from '../shared/metrics.js';
import type {HubCluster} from './cluster/hub-cluster.js';
import type {HubExtension} from './hub-extension.js';
import type {NatsStatus} from './hub-status-record.js';
import type {Relay} from './relay/relay.js';
import type {ExecutorEnd} from './relay/relay-ends.js';

/** Metrics for `/metrics`. No label holds an id: their number is bounded. */
export class HubMetrics {
	readonly #relay: Relay;
	readonly #registry = new MetricsRegistry();
	readonly #requests = this.#registry.counter('longarm_hub_requests_total', 'Requests answered, by status.');
	readonly #refusals = this.#registry.counter('longarm_hub_refusals_total', 'Requests and sockets refused, by reason.');
	readonly #sockets = this.#registry.counter('longarm_hub_sockets_total', 'Sockets let in, by role.');

	#extension: HubExtension | undefined;

	constructor(relay: Relay, cluster: HubCluster) {
		this.#relay = relay;
		addRelayGauges(this.#registry, relay);
		this.#registry.gauge('process_resident_memory_bytes', 'Memory of the hub.', () => process.memoryUsage.rss());
		this.#registry.sampledCounter(
			'longarm_hub_forwarded_bytes_total',
			'Bytes of frames passed on.',
			() => relay.forwardedBytes,
		);
		if (cluster.natsStatus()) addNatsMetrics(this.#registry, cluster);
	}

	/** Metrics of the extension are told, too, from now on. */
	attach(extension: HubExtension): void {
		this.#extension = extension;
		extension.addMetrics(this.#registry);
	}

	render(): string {
		return this.#registry.render();
	}

	/** Metrics of one tenant, without a number that others have a part in. */
	renderTenant(tenant: string): string {
		const registry = new MetricsRegistry();
		addRelayGauges(registry, this.#relay, executor => executor.tenant === tenant);
		this.#extension?.addMetrics(registry, tenant);
		return registry.render();
	}

	recordRequest(status: number): void {
		this.#requests.add({status: String(status)});
	}

	recordRefusal(reason: string): void {
		this.#refusals.add({reason});
	}

	recordSocket(role: string): void {
		this.#sockets.add({role});
	}
}

function addRelayGauges(registry: MetricsRegistry, relay: Relay, isCounted = (_executor: ExecutorEnd) => true): void {
	const sum = (count: (executor: ExecutorEnd) => number) => (): number => {
		let total = 0;
		for (const executor of relay.executors()) if (isCounted(executor)) total += count(executor);
		return total;
	};
	registry.gauge(
		'longarm_hub_executors_online',
		'Executors that are connected.',
		sum(() => 1),
	);
	registry.gauge(
		'longarm_hub_clients_connected',
		'Sockets of clients.',
		sum(({harnesses}) => harnesses.size),
	);
	registry.gauge(
		'longarm_hub_streams_active',
		'Streams that clients have claimed.',
		sum(({streams}) => streams.size),
	);
}

function addNatsMetrics(registry: MetricsRegistry, cluster: HubCluster): void {
	const read = (member: (status: NatsStatus) => number) => (): number => {
		const status = cluster.natsStatus();
		return status ? member(status) : 0;
	};
	const isConnected = read(status => (status.isConnected ? 1 : 0));
	registry.gauge('longarm_hub_nats_connected', 'Whether the connection to NATS is up.', isConnected);
	const alive = (): number => cluster.nodes().filter(({isAlive}) => isAlive).length;
	registry.gauge('longarm_hub_nodes', 'Nodes of this hub that answer, with this one.', alive);
	const links = read(status => status.links);
	registry.gauge(
		'longarm_hub_node_links',
		'Clients whose executor is at another node, and the other way round.',
		links,
	);
	const onTheWay = read(({bytesOnTheWay}) => bytesOnTheWay);
	registry.gauge('longarm_hub_node_bytes_on_the_way', 'Bytes that have not arrived at another node.', onTheWay);
	const disconnects = read(status => status.disconnects);
	registry.sampledCounter('longarm_hub_nats_disconnects_total', 'Losses of the connection to NATS.', disconnects);
	const resets = read(({linkResets}) => linkResets);
	registry.sampledCounter('longarm_hub_node_link_resets_total', 'Links to other nodes that were given up.', resets);
}
