import {LongarmError} from '../shared/errors.js';
import {LONGEST_TIMER_MS} from '../shared/limits.js';
import type {Backend} from './backend.js';
import {ManagedProcess} from './managed-process.js';
import type {Retention} from './output-log.js';
import {prepareSpawn, type StartRequest} from './start.js';
import type {StartQueue} from './start-queue.js';

export interface ProcessTableOptions {
	/** Asked for at every start, so that nothing native is loaded before it is needed. */
	readonly backend: () => Backend;
	readonly starts: StartQueue;
	readonly retention: Retention;
	/** How long a closed process stays readable and its id taken. */
	readonly retainClosedMs: number;
	/** The server's own variables, from which environment policies inherit. */
	readonly variables: Readonly<Record<string, string | undefined>>;
	/** A process entered the table; nothing is in its log yet. */
	readonly added: (process: ManagedProcess) => void;
	/** Some process of the table has something new in its log. */
	readonly changed: (process: ManagedProcess) => void;
}

/** The processes of one session by id, from the request to start them until they are forgotten. */
export class ProcessTable {
	readonly #options: ProcessTableOptions;
	readonly #processes = new Map<string, ManagedProcess>();
	readonly #evictions = new Set<NodeJS.Timeout>();
	#idle: (() => void)[] = [];

	constructor(options: ProcessTableOptions) {
		this.#options = options;
	}

	[Symbol.iterator](): IterableIterator<ManagedProcess> {
		return this.#processes.values();
	}

	/** A process whose start failed or was cancelled is not there any more, even before its caller has heard of it. */
	find(id: string): ManagedProcess | undefined {
		const process = this.#processes.get(id);
		return process?.state.kind === 'failed' ? undefined : process;
	}

	/** Takes the id at once; settles when the child runs, or frees the id and rejects. */
	async start(id: string, request: StartRequest): Promise<ManagedProcess> {
		if (this.find(id)) {
			throw new LongarmError('PROCESS_EXISTS', {message: `process ${id} already exists`, context: {processId: id}});
		}
		const {backend, starts, retention, variables} = this.#options;
		const spawner = backend();
		const spawnRequest = prepareSpawn(request, variables);
		const process = new ManagedProcess(id, retention, {
			changed: () => this.#changed(process),
			closed: () => this.#closed(process),
		});
		this.#processes.set(id, process);
		this.#options.added(process);
		starts.run(this, () => void process.spawn(spawner, spawnRequest));
		try {
			await process.started;
		} catch (error) {
			this.#forget(process);
			throw error;
		}
		return process;
	}

	/** Ends every process. `force` kills; otherwise the groups are asked to end. */
	end(how: 'ask' | 'force'): void {
		for (const process of this) {
			if (how === 'ask') process.signal('SIGTERM');
			else if (!process.terminate()) process.abandon();
		}
	}

	/** Settles when no process is starting or running. */
	quiet(): Promise<void> {
		return this.#until(({state}) => state.kind !== 'starting' && state.kind !== 'running');
	}

	/** Settles when the output of every process is over, too. */
	silent(): Promise<void> {
		return this.#until(({state}) => state.kind === 'closed' || state.kind === 'failed');
	}

	/** Forgets everything; processes must have been ended before. */
	dispose(): void {
		for (const timer of this.#evictions) clearTimeout(timer);
		this.#evictions.clear();
		this.#processes.clear();
		this.#wake();
	}

	#changed(process: ManagedProcess): void {
		this.#options.changed(process);
		if (process.state.kind !== 'running') this.#wake();
	}

	#closed(process: ManagedProcess): void {
		const timer = setTimeout(
			() => {
				this.#evictions.delete(timer);
				this.#forget(process);
			},
			Math.min(this.#options.retainClosedMs, LONGEST_TIMER_MS),
		);
		timer.unref();
		this.#evictions.add(timer);
	}

	#forget(process: ManagedProcess): void {
		if (this.#processes.get(process.id) === process) this.#processes.delete(process.id);
		this.#wake();
	}

	async #until(holds: (process: ManagedProcess) => boolean): Promise<void> {
		while (![...this].every(holds)) await new Promise<void>(resolve => this.#idle.push(resolve));
	}

	#wake(): void {
		for (const resolve of this.#idle.splice(0)) resolve();
	}
}
