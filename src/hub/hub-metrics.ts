import {MetricsRegistry} from '../shared/metrics.js';
import type {Relay} from './relay/relay.js';

/** Metrics for `/metrics`. No label holds an id: their number is bounded. */
export class HubMetrics {
	readonly #registry = new MetricsRegistry();
	readonly #requests = this.#registry.counter('longarm_hub_requests_total', 'Requests answered, by status.');
	readonly #refusals = this.#registry.counter('longarm_hub_refusals_total', 'Requests and sockets refused, by reason.');
	readonly #sockets = this.#registry.counter('longarm_hub_sockets_total', 'Sockets let in, by role.');

	constructor(relay: Relay) {
		const sum = (count: (executor: ReturnType<Relay['findExecutor']> & object) => number) => (): number => {
			let total = 0;
			for (const executor of relay.executors()) total += count(executor);
			return total;
		};
		const gauges = [
			['longarm_hub_executors_online', 'Executors that are connected.', sum(() => 1)],
			['longarm_hub_clients_connected', 'Sockets of clients.', sum(({harnesses}) => harnesses.size)],
			['longarm_hub_streams_active', 'Streams that clients have claimed.', sum(({streams}) => streams.size)],
			['process_resident_memory_bytes', 'Memory of the hub.', () => process.memoryUsage.rss()],
		] as const;
		for (const [name, help, read] of gauges) this.#registry.gauge(name, help, read);
		this.#registry.sampledCounter(
			'longarm_hub_forwarded_bytes_total',
			'Bytes of frames passed on.',
			() => relay.forwardedBytes,
		);
	}

	render(): string {
		return this.#registry.render();
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
