import type {ManagedProcess} from '../processes/managed-process.js';
import {findDeclaration} from '../protocol/methods/method-table.js';
import type {ProcessRole} from '../protocol/methods/sharing-params.js';
import {type CounterSeries, type HistogramSeries, MetricsRegistry} from '../shared/metrics.js';

/** Values sampled at every scrape. */
export interface ObservedServer {
	readonly connections: () => Iterable<string>;
	readonly sessions: () => number;
	readonly processes: () => Iterable<ManagedProcess>;
	readonly running: () => number;
	readonly retainedBytes: () => number;
	readonly diskWaits: () => {readonly waiting: number; readonly total: number};
}

/** Series of one method; a counter appears with the first request that ends so. */
interface MethodSeries {
	readonly label: string;
	readonly durations: HistogramSeries;
	success: CounterSeries | undefined;
	error: CounterSeries | undefined;
}

/** Metrics for `/metrics`. Names are upstream's where it has the same metric. */
export class ServerMetrics {
	readonly #registry = new MetricsRegistry();
	readonly #connections = this.#registry.counter('exec_server_connections_total', 'Connections accepted.');
	readonly #requests = this.#registry.counter('exec_server_requests_total', 'Requests answered.');
	readonly #durations = this.#registry.histogram('exec_server_request_duration_seconds', 'From request to reply.');
	readonly #finished = this.#registry.counter('exec_server_processes_finished_total', 'Processes that ended.');
	readonly #lifetimes = this.#registry.histogram('exec_server_process_duration_seconds', 'From start to exit.');
	readonly #attached = this.#registry.counter(
		'exec_server_process_attaches_total',
		'Clients that attached to a process.',
	);
	readonly #takeovers = this.#registry.counter('exec_server_process_takeovers_total', 'Drivers that were replaced.');
	readonly #shared = this.#registry.counter('exec_server_process_shares_total', 'Tokens made for single processes.');
	/** Series of each method that was asked for, so that a request looks them up once. */
	readonly #methods = new Map<string, MethodSeries>();
	/** Totals of processes that were removed from their table. */
	#removedOutputBytes = 0;
	#removedPausedMs = 0;

	constructor(observed: ObservedServer) {
		this.#registry.gauge('exec_server_connections_active', 'Open connections.', () => {
			const counts = new Map<string, number>();
			for (const transport of observed.connections()) counts.set(transport, (counts.get(transport) ?? 0) + 1);
			return [...counts].map(([transport, count]) => [{transport}, count] as const);
		});
		this.#registry.gauge('exec_server_sessions_active', 'Sessions, attached or not.', observed.sessions);
		this.#registry.gauge('exec_server_processes_active', 'Processes starting or running.', observed.running);
		this.#registry.gauge('exec_server_retained_bytes', 'Output kept for late readers.', observed.retainedBytes);
		this.#registry.sampledCounter('exec_server_output_bytes_total', 'Bytes processes have written.', () => {
			let bytes = this.#removedOutputBytes;
			for (const {log} of observed.processes()) bytes += log.totalBytes;
			return bytes;
		});
		this.#registry.sampledCounter(
			'exec_server_backpressure_seconds_total',
			'Time processes were paused because their client did not read, or the state disk was full.',
			() => {
				let ms = this.#removedPausedMs;
				for (const {pressure} of observed.processes()) ms += pressure.pausedMs;
				return ms / 1000;
			},
		);
		this.#registry.gauge('exec_server_spilled_bytes', 'Output of processes on disk.', () => {
			let bytes = 0;
			for (const {options} of observed.processes()) bytes += options.spill?.bytes ?? 0;
			return bytes;
		});
		this.#registry.gauge(
			'exec_server_processes_waiting_for_disk',
			'Processes whose output the state disk does not take.',
			() => observed.diskWaits().waiting,
		);
		this.#registry.sampledCounter(
			'exec_server_disk_waits_total',
			'Times a process began to wait because the state disk did not take its output.',
			() => observed.diskWaits().total,
		);
		this.#registry.gauge('process_resident_memory_bytes', 'Memory of the server.', () => process.memoryUsage.rss());
	}

	render(): string {
		return this.#registry.render();
	}

	recordConnection(transport: string): void {
		this.#connections.add({transport});
	}

	recordRequest(method: string, result: 'success' | 'error', ms: number): void {
		const series = this.#methods.get(method) ?? this.#seriesOf(method);
		series[result] ??= this.#requests.series({method: series.label, result});
		series[result].value++;
		series.durations.observe(ms / 1000);
	}

	/** Bounded label: names from clients that are not in the table share one series. */
	#seriesOf(method: string): MethodSeries {
		const label = findDeclaration(method) ? method : 'unknown';
		let series = this.#methods.get(label);
		if (!series) {
			series = {label, durations: this.#durations.series({method: label}), success: undefined, error: undefined};
			this.#methods.set(label, series);
		}
		return series;
	}

	recordAttach(role: ProcessRole, isTakeover: boolean): void {
		this.#attached.add({role});
		if (isTakeover) this.#takeovers.add({});
	}

	recordShare(role: ProcessRole): void {
		this.#shared.add({role});
	}

	recordExit({log, ageMs}: ManagedProcess): void {
		const {exitCode, reason} = log.exit!;
		const result =
			reason === 'terminated' || reason === 'timeout' ? 'terminated' : exitCode === 0 ? 'success' : 'error';
		this.#finished.add({result});
		this.#lifetimes.observe({result}, ageMs / 1000);
	}

	recordRemoval({log, pressure}: ManagedProcess): void {
		this.#removedOutputBytes += log.totalBytes;
		this.#removedPausedMs += pressure.pausedMs;
	}
}
