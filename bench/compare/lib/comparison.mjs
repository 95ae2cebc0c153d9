import {delay, within} from '../../lib/waiting.mjs';
import {METRICS} from '../metrics/index.mjs';
import {NeighbourWatch} from './neighbours.mjs';
import {Server} from './server.mjs';

/** Between two metrics, so that the end of one does not fall into the beginning of the next. */
const PAUSE_MS = 50;

/** Runs every metric on every server, repetitions interleaved (A B, B A, ...). Progress goes to stderr. */
export class Comparison {
	#options;
	#environment;
	/** Shared by metrics: a folder for fixtures, and functions to call at the end. */
	#context;
	#running = new Map();
	#isStopped = false;

	constructor(options, {scratch, environment}) {
		this.#options = options;
		this.#environment = environment;
		this.#context = {scratch, cleanup: []};
	}

	/** By metric and server: `reps`, each with its values by name, what others used meanwhile (`noise`), and `errors`. */
	async run() {
		const results = {};
		for (const metric of this.#options.metrics) {
			process.stderr.write(metric.padEnd(18));
			results[metric] = await this.#runMetric(metric);
			process.stderr.write('\n');
			await delay(PAUSE_MS);
		}
		await this.stop();
		return results;
	}

	/** Ends every server and helper; a run that is not over stays where it is, for the program is about to end. */
	async stop() {
		this.#isStopped = true;
		for (const spec of this.#running.keys()) await this.#halt(spec);
		for (const clean of this.#context.cleanup.splice(0)) clean();
	}

	async #runMetric(metric) {
		const {servers, repetitions} = this.#options;
		const rows = Object.fromEntries(servers.map(({name}) => [name, {reps: [], noise: [], errors: []}]));
		for (let repetition = 0; repetition < repetitions; repetition++) {
			for (const spec of repetition % 2 ? servers.toReversed() : servers) {
				const row = rows[spec.name];
				const began = performance.now();
				const neighbours = new NeighbourWatch();
				try {
					row.reps[repetition] = await this.#measure(metric, spec);
					process.stderr.write(` ${spec.name}:${((performance.now() - began) / 1000).toFixed(1)}s`);
				} catch (error) {
					await this.#stayIfStopped();
					row.reps[repetition] = {};
					row.errors.push(`rep ${repetition}: ${error.message}`);
					process.stderr.write(` ${spec.name}:FAILED(${error.message})`);
				}
				await this.#halt(spec);
				row.noise[repetition] = neighbours.stop();
			}
		}
		return rows;
	}

	async #measure(metric, spec) {
		await this.#stayIfStopped();
		const {measure, startsServers} = METRICS[metric];
		if (startsServers && spec.kind === 'url') return {};
		const server = startsServers ? new Server(spec, this.#environment) : await this.#serverOf(spec);
		const {sizes, timeoutSeconds} = this.#options;
		return within(timeoutSeconds * 1000, `${metric} on ${spec.name}`, measure(server, sizes, this.#context));
	}

	async #stayIfStopped() {
		if (this.#isStopped) await new Promise(() => {});
	}

	async #serverOf(spec) {
		const known = this.#running.get(spec);
		if (known) return known;
		const server = new Server(spec, this.#environment);
		this.#running.set(spec, server);
		await server.start();
		return server;
	}

	async #halt(spec) {
		const server = this.#running.get(spec);
		this.#running.delete(spec);
		await server?.stop();
	}
}
