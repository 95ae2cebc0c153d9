import {LongarmError} from '../shared/errors.js';
import {MAX_TIMER_MS} from '../shared/units.js';
import type {Backend, SpawnRequest} from './backends/backend.js';
import type {ChildLimits} from './backends/child-limits.js';
import {explainFailedSpawn} from './failed-spawn.js';
import {ManagedProcess} from './managed-process.js';
import type {Retention} from './output/output-log.js';
import {prepareSpawn, type StartRequest} from './prepare-spawn.js';
import type {ProcessQuota} from './process-quota.js';
import type {StartQueue} from './start-queue.js';
import {filterLeadersWithOrphans, killOrphansOf} from './tree/kill-tree.js';
import type {ProcessRoot} from './tree/subreaper.js';

/** Removed leaders that are remembered before those without living orphans are dropped. */
const MAX_REMEMBERED_LEADERS = 1024;

export interface ProcessTableOptions {
	/** Called at every start, so that the native backend is loaded lazily. */
	readonly backend: () => Backend;
	readonly starts: StartQueue;
	readonly retention: Retention;
	/** Retention of a closed process: it stays readable and its id stays taken for this long. */
	readonly retainClosedMs: number;
	/** The server's own variables, from which environment policies inherit. */
	readonly variables: Readonly<Record<string, string | undefined>>;
	/** Resource limits of every child. */
	readonly limits?: ChildLimits | undefined;
	/** Quotas every start counts against. */
	readonly quotas: readonly ProcessQuota[];
	/** True to retain a closed process beyond `retainClosedMs`. */
	readonly isRetained?: (process: ManagedProcess) => boolean;
	readonly exited?: (process: ManagedProcess) => void;
	/** Called when a process was removed from the table. */
	readonly removed?: (process: ManagedProcess) => void;
	/** Called at the end of `dispose`. */
	readonly disposed?: () => void;
}

/** The processes of one session by id, from the request to start them until they are evicted. */
export class ProcessTable {
	readonly #options: ProcessTableOptions;
	readonly #processes = new Map<string, ManagedProcess>();
	readonly #evictions = new Map<ManagedProcess, NodeJS.Timeout>();
	readonly #listeners = new Set<(process: ManagedProcess) => void>();
	#removedLeaders: ProcessRoot[] = [];
	#waiters: (() => void)[] = [];

	constructor(options: ProcessTableOptions) {
		this.#options = options;
	}

	[Symbol.iterator](): IterableIterator<ManagedProcess> {
		return this.#processes.values();
	}

	/** Calls back with every process added to the table, before its log has any event. Returns an unsubscribe function. */
	onAdded(listener: (process: ManagedProcess) => void): () => void {
		this.#listeners.add(listener);
		return () => this.#listeners.delete(listener);
	}

	/** A process whose start failed or was cancelled is not found, even before its caller is notified. */
	find(id: string): ManagedProcess | undefined {
		const process = this.#processes.get(id);
		return process?.state.kind === 'failed' ? undefined : process;
	}

	/** Reserves the id at once; settles when the child runs, or frees the id and rejects. */
	async start(id: string, request: StartRequest): Promise<ManagedProcess> {
		if (this.find(id)) {
			throw new LongarmError('PROCESS_EXISTS', {message: `process ${id} already exists`, context: {processId: id}});
		}
		const {backend, starts, variables, quotas, limits} = this.#options;
		for (const quota of quotas) quota.check();
		const spawner = backend();
		const spawnRequest = {...this.#prepare(request, variables), limits};
		const process = this.#create(id, request);
		starts.run(this, () => void process.spawn(spawner, spawnRequest));
		try {
			await process.started;
		} catch (error) {
			for (const quota of quotas) quota.release();
			this.#remove(process);
			throw explainFailedSpawn(error, request.cwd);
		}
		return process;
	}

	#prepare(request: StartRequest, variables: ProcessTableOptions['variables']): SpawnRequest {
		try {
			return prepareSpawn(request, variables);
		} catch (error) {
			throw explainFailedSpawn(error, request.cwd);
		}
	}

	/** Ends every process: `force` sends SIGKILL, `ask` SIGTERM. */
	endAll(how: 'ask' | 'force'): void {
		for (const process of this) {
			// A process still in the start queue is cancelled instead of being started only to be ended.
			const isStarting = process.state.kind === 'starting';
			if (how === 'ask' && !isStarting) process.signal('SIGTERM');
			else if (!process.terminate().running) process.closeStreams();
		}
		if (how === 'force') killOrphansOf(this.#listLeaders());
	}

	/** Call before `isRetained` turns false: the retention of closed processes begins only then. */
	restartRetention(): void {
		for (const process of this.#evictions.keys()) {
			if (this.#options.isRetained?.(process)) this.#scheduleEviction(process);
		}
	}

	/** Leaders of all processes ever started here that may have living orphans. */
	#listLeaders(): ProcessRoot[] {
		return [...[...this].map(({leader}) => leader).filter(leader => leader !== undefined), ...this.#removedLeaders];
	}

	/** Bounds the list: when it is full, only leaders with living orphans are kept. */
	#rememberLeader(leader: ProcessRoot): void {
		this.#removedLeaders.push(leader);
		if (this.#removedLeaders.length <= MAX_REMEMBERED_LEADERS) return;
		this.#removedLeaders = filterLeadersWithOrphans(this.#removedLeaders);
	}

	/** Settles when no process is starting or running. */
	allExited(): Promise<void> {
		return this.#waitUntilEach(({isAlive}) => !isAlive);
	}

	/** Settles when, in addition, all output has ended. */
	allClosed(): Promise<void> {
		return this.#waitUntilEach(({state}) => state.kind === 'closed' || state.kind === 'failed');
	}

	/** Removes all processes, which must have been ended before. */
	dispose(): void {
		for (const timer of this.#evictions.values()) clearTimeout(timer);
		this.#evictions.clear();
		for (const process of this) this.#remove(process);
		this.#options.disposed?.();
	}

	#create(id: string, request: StartRequest): ManagedProcess {
		const {argv, io, timeLimitMs, keepDetachedMs, isAcknowledged = false, sandbox} = request;
		const {retention, quotas} = this.#options;
		const process = new ManagedProcess(
			{
				id,
				argv,
				tty: io.kind === 'pty',
				retention,
				timeLimitMs,
				keepDetachedMs,
				isAcknowledged,
				isSandboxed: sandbox !== undefined,
				isSandboxedWithNetwork: sandbox?.hasNetwork ?? false,
			},
			{
				exited: () => {
					for (const quota of quotas) quota.release();
					this.#options.exited?.(process);
					this.#wakeWaiters();
				},
				closed: () => {
					this.#wakeWaiters();
					this.#scheduleEviction(process);
				},
			},
		);
		for (const quota of quotas) quota.acquire();
		this.#processes.set(id, process);
		for (const listener of this.#listeners) listener(process);
		return process;
	}

	#scheduleEviction(process: ManagedProcess): void {
		clearTimeout(this.#evictions.get(process));
		const timer = setTimeout(
			() => {
				this.#evictions.delete(process);
				if (this.#options.isRetained?.(process)) this.#scheduleEviction(process);
				else this.#remove(process);
			},
			Math.min(this.#options.retainClosedMs, MAX_TIMER_MS),
		);
		timer.unref();
		this.#evictions.set(process, timer);
	}

	#remove(process: ManagedProcess): void {
		if (this.#processes.get(process.id) === process) {
			this.#processes.delete(process.id);
			process.dispose();
			if (process.leader) this.#rememberLeader(process.leader);
			this.#options.removed?.(process);
		}
		this.#wakeWaiters();
	}

	async #waitUntilEach(predicate: (process: ManagedProcess) => boolean): Promise<void> {
		while (![...this].every(predicate)) await new Promise<void>(resolve => this.#waiters.push(resolve));
	}

	#wakeWaiters(): void {
		for (const resolve of this.#waiters.splice(0)) resolve();
	}
}
