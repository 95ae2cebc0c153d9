import {LongarmError} from '../shared/errors.js';
import {MAX_TIMER_MS} from '../shared/units.js';
import type {Backend} from './backends/backend.js';
import type {ChildLimits} from './backends/child-limits.js';
import {ManagedProcess} from './managed-process.js';
import type {Retention} from './output/output-log.js';
import {prepareSpawn, type StartRequest} from './prepare-spawn.js';
import type {ProcessQuota} from './process-quota.js';
import type {StartQueue} from './start-queue.js';
import {killOrphansOf, leadersOfOrphans} from './tree/kill-tree.js';
import type {ProcessRoot} from './tree/subreaper.js';

/** Past processes that are remembered before it is looked which of them left somebody behind. */
const REMEMBERED_LEADERS = 1024;

export interface ProcessTableOptions {
	/** Asked for at every start, so that nothing native is loaded before it is needed. */
	readonly backend: () => Backend;
	readonly starts: StartQueue;
	readonly retention: Retention;
	/** How long a closed process stays readable and its id taken. */
	readonly retainClosedMs: number;
	/** The server's own variables, from which environment policies inherit. */
	readonly variables: Readonly<Record<string, string | undefined>>;
	/** What every child is held to. */
	readonly limits?: ChildLimits | undefined;
	/** What a start counts against. */
	readonly quotas: readonly ProcessQuota[];
	/** Whether a closed process has to stay although its time is over. */
	readonly holds?: (process: ManagedProcess) => boolean;
	readonly exited?: (process: ManagedProcess) => void;
	/** A process left the table. */
	readonly forgotten?: (process: ManagedProcess) => void;
	/** The table itself is over. */
	readonly disposed?: () => void;
}

/** The processes of one session by id, from the request to start them until they are forgotten. */
export class ProcessTable {
	readonly #options: ProcessTableOptions;
	readonly #processes = new Map<string, ManagedProcess>();
	readonly #evictions = new Map<ManagedProcess, NodeJS.Timeout>();
	readonly #listeners = new Set<(process: ManagedProcess) => void>();
	#past: ProcessRoot[] = [];
	#idle: (() => void)[] = [];

	constructor(options: ProcessTableOptions) {
		this.#options = options;
	}

	[Symbol.iterator](): IterableIterator<ManagedProcess> {
		return this.#processes.values();
	}

	/** Calls back with every process that enters the table, before anything is in its log. Returns how to stop that. */
	onAdded(listener: (process: ManagedProcess) => void): () => void {
		this.#listeners.add(listener);
		return () => this.#listeners.delete(listener);
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
		const {backend, starts, variables, quotas, limits} = this.#options;
		for (const quota of quotas) quota.check();
		const spawner = backend();
		const spawnRequest = {...prepareSpawn(request, variables), limits};
		const process = this.#create(id, request);
		starts.run(this, () => void process.spawn(spawner, spawnRequest));
		try {
			await process.started;
		} catch (error) {
			for (const quota of quotas) quota.give();
			this.#forget(process);
			throw error;
		}
		return process;
	}

	/** Ends every process. `force` kills; otherwise the groups are asked to end. */
	end(how: 'ask' | 'force'): void {
		for (const process of this) {
			// What has not had its turn need not be started only to be ended.
			const waiting = process.state.kind === 'starting';
			if (how === 'ask' && !waiting) process.signal('SIGTERM');
			else if (!process.terminate().running) process.abandon();
		}
		if (how === 'force') killOrphansOf(this.#leaders());
	}

	/** To be called before what holds processes lets go: the time of those that are closed begins only then. */
	restartRetention(): void {
		for (const process of this.#evictions.keys()) {
			if (this.#options.holds?.(process)) this.#evictLater(process);
		}
	}

	/** Every process this table ever started that may have left somebody behind. */
	#leaders(): ProcessRoot[] {
		return [...[...this].map(({leader}) => leader).filter(leader => leader !== undefined), ...this.#past];
	}

	/** Only those that really left somebody behind are worth remembering for long. */
	#remember(leader: ProcessRoot): void {
		this.#past.push(leader);
		if (this.#past.length <= REMEMBERED_LEADERS) return;
		this.#past = leadersOfOrphans(this.#past);
	}

	/** Settles when no process is starting or running. */
	allExited(): Promise<void> {
		return this.#until(({alive}) => !alive);
	}

	/** Settles when the output of every process is over, too. */
	allClosed(): Promise<void> {
		return this.#until(({state}) => state.kind === 'closed' || state.kind === 'failed');
	}

	/** Forgets everything; processes must have been ended before. */
	dispose(): void {
		for (const timer of this.#evictions.values()) clearTimeout(timer);
		this.#evictions.clear();
		for (const process of this) this.#forget(process);
		this.#options.disposed?.();
	}

	#create(id: string, request: StartRequest): ManagedProcess {
		const {argv, io, timeLimitMs, keepDetachedMs, sandbox} = request;
		const {retention, quotas} = this.#options;
		const process = new ManagedProcess(
			{id, argv, tty: io.kind === 'pty', retention, timeLimitMs, keepDetachedMs, sandboxed: sandbox !== undefined},
			{
				exited: () => {
					for (const quota of quotas) quota.give();
					this.#options.exited?.(process);
					this.#wake();
				},
				closed: () => {
					this.#wake();
					this.#evictLater(process);
				},
			},
		);
		for (const quota of quotas) quota.take();
		this.#processes.set(id, process);
		for (const listener of this.#listeners) listener(process);
		return process;
	}

	#evictLater(process: ManagedProcess): void {
		clearTimeout(this.#evictions.get(process));
		const timer = setTimeout(
			() => {
				this.#evictions.delete(process);
				if (this.#options.holds?.(process)) this.#evictLater(process);
				else this.#forget(process);
			},
			Math.min(this.#options.retainClosedMs, MAX_TIMER_MS),
		);
		timer.unref();
		this.#evictions.set(process, timer);
	}

	#forget(process: ManagedProcess): void {
		if (this.#processes.get(process.id) === process) {
			this.#processes.delete(process.id);
			process.dispose();
			if (process.leader) this.#remember(process.leader);
			this.#options.forgotten?.(process);
		}
		this.#wake();
	}

	async #until(holds: (process: ManagedProcess) => boolean): Promise<void> {
		while (![...this].every(holds)) await new Promise<void>(resolve => this.#idle.push(resolve));
	}

	#wake(): void {
		for (const resolve of this.#idle.splice(0)) resolve();
	}
}
