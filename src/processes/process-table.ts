import {LongarmError} from '../shared/errors.js';
import type {HandoffSink, HandoffSource} from '../shared/node/handoff-file.js';
import {MAX_TIMER_MS} from '../shared/units.js';
import type {Backend, SpawnRequest} from './backends/backend.js';
import type {ChildLimits} from './backends/child-limits.js';
import {explainFailedSpawn} from './failed-spawn.js';
import {loadRoot, type StoredSpillRecord, storeRoot, type TableRecord} from './handoff/process-record.js';
import type {InputBudget} from './input-budget.js';
import {ManagedProcess} from './managed-process.js';
import type {Retention} from './output/output-log.js';
import type {KeptOutput} from './output/output-spill.js';
import {prepareSpawn, type StartRequest} from './prepare-spawn.js';
import type {InheritedProcess, ProcessEvents, ProcessOptions} from './process-options.js';
import type {ProcessQuota} from './process-quota.js';
import type {StartQueue} from './start-queue.js';
import {endOrphansUntilGone} from './tree/end-tree.js';
import {filterLeadersWithOrphans, MAX_FREEZE_MS} from './tree/kill-tree.js';
import type {ProcessRoot} from './tree/subreaper.js';

/** Removed leaders that are remembered before those without living orphans are dropped. */
const MAX_REMEMBERED_LEADERS = 1024;

export interface ProcessTableOptions {
	/** Called at every start, so that the native backend is loaded lazily. */
	readonly backend: () => Backend;
	readonly starts: StartQueue;
	readonly retention: Retention;
	/** Bounds the unread input of its processes together with that of other tables. */
	readonly input?: InputBudget | undefined;
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
	/** Name of the token whose clients use the table. */
	readonly owner?: string | undefined;
	/** Keeps the output of a process on disk; undefined where there is no place for it. */
	readonly openSpill?: ((id: string, request: StartRequest) => KeptOutput) | undefined;
	/** The same for a process of the program that this one has taken the place of. */
	readonly reopenSpill?: ((record: StoredSpillRecord) => KeptOutput) | undefined;
	/** Takes over a process whose output is on disk, when it is evicted; it is released otherwise. */
	readonly archive?: (process: ManagedProcess) => void;
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
	/** Of all processes: each tells which one it is. */
	readonly #events: ProcessEvents = {
		exited: process => {
			for (const quota of this.#options.quotas) quota.release();
			this.#options.exited?.(process);
			this.#wakeWaiters();
		},
		closed: process => {
			this.#wakeWaiters();
			this.#scheduleEviction(process);
		},
		lost: process => {
			for (const quota of this.#options.quotas) quota.release();
			this.#wakeWaiters();
			this.#scheduleEviction(process);
		},
	};
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
		this.requireRoom();
		const spawner = backend();
		const spawnRequest = {...this.#prepare(request, variables), limits};
		const process = this.#create(id, request);
		const spawn = (changed: SpawnRequest = spawnRequest): void =>
			starts.run(this, () => void process.spawn(spawner, changed));
		if (request.prepare) void this.#change(process, request, request.prepare).then(spawn);
		else spawn();
		try {
			await process.started;
		} catch (error) {
			for (const quota of quotas) quota.release();
			this.#remove(process);
			throw explainFailedSpawn(error, request.cwd);
		}
		process.options.spill?.recordStart(process.pid!);
		return process;
	}

	/** Returns the changed request, or undefined if the request is used unchanged. */
	async #change(
		process: ManagedProcess,
		request: StartRequest,
		prepare: NonNullable<StartRequest['prepare']>,
	): Promise<SpawnRequest | undefined> {
		const {variables, limits} = this.#options;
		const cancelled = new AbortController();
		process.started.catch(() => cancelled.abort());
		try {
			const changed = await prepare(cancelled.signal);
			return changed === request ? undefined : {...prepareSpawn(changed, variables), limits};
		} catch {
			return undefined;
		}
	}

	/** Adds a process that was not started by this table. */
	include(process: ManagedProcess): void {
		// The id may be that of a start that has failed and whose caller is not told yet: nothing else would release that.
		const previous = this.#processes.get(process.id);
		if (previous?.state.kind === 'failed') this.#remove(previous);
		this.#processes.set(process.id, process);
		for (const listener of this.#listeners) listener(process);
	}

	/** Throws `PROCESS_LIMIT` if there is no room for one more. */
	requireRoom(): void {
		for (const quota of this.#options.quotas) quota.check();
	}

	/** Adds a process that another program runs: see `ManagedProcess.follow`. */
	addFollowed(options: Omit<ProcessOptions, 'retention' | 'owner'>): ManagedProcess {
		const {owner, retention, input} = this.#options;
		return this.#add({...options, owner, retention, input});
	}

	/** Forgets a process that has ended. */
	remove(process: ManagedProcess): void {
		clearTimeout(this.#evictions.get(process));
		this.#evictions.delete(process);
		this.#remove(process);
	}

	#prepare(request: StartRequest, variables: ProcessTableOptions['variables']): SpawnRequest {
		try {
			return prepareSpawn(request, variables);
		} catch (error) {
			throw explainFailedSpawn(error, request.cwd);
		}
	}

	/** Whether a process is starting or running. */
	get hasLiving(): boolean {
		return [...this].some(({isAlive}) => isAlive);
	}

	/** Ends every process: `force` kills it, `ask` asks it to end. Durable ones, which are to outlive this program, go on. */
	endAll(how: 'ask' | 'force'): void {
		const deadline = performance.now() + MAX_FREEZE_MS;
		for (const process of this) {
			if (process.options.isDurable) continue;
			// A process still in the start queue is cancelled instead of being started only to be ended.
			const isStarting = process.state.kind === 'starting';
			if (how === 'ask' && !isStarting) process.askToEnd();
			else if (process.isAlive) process.terminate({kind: 'force', withinMs: Math.max(0, deadline - performance.now())});
			else process.closeStreams();
		}
		if (how === 'force') void endOrphansUntilGone(this.#listLeaders());
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

	/** Settles when no process is starting or running that `endAll` ends. */
	allExited(): Promise<void> {
		return this.#waitUntilEach(({isAlive, options}) => !isAlive || options.isDurable === true);
	}

	/** Settles when, in addition, all output has ended. */
	allClosed(): Promise<void> {
		return this.#waitUntilEach(
			({state, options}) => ['closed', 'failed', 'lost'].includes(state.kind) || options.isDurable === true,
		);
	}

	/** Removes all processes, which must have been ended before. */
	dispose(): void {
		for (const timer of this.#evictions.values()) clearTimeout(timer);
		this.#evictions.clear();
		for (const process of this) this.#remove(process);
		this.#options.disposed?.();
	}

	/** For a program that takes the place of this one. Processes that are not started yet are left out. */
	handOver(sink: HandoffSink): TableRecord {
		return {
			processes: [...this].map(process => process.handOver(sink)).filter(record => record !== undefined),
			removedLeaders: this.#removedLeaders.map(storeRoot),
		};
	}

	/** Takes over the processes of the program that this one has taken the place of. */
	adopt({processes, removedLeaders}: TableRecord, source: HandoffSource): void {
		const {retention, input} = this.#options;
		const backend = this.#options.backend();
		for (const record of processes) {
			const spill = record.spill && this.#options.reopenSpill?.(record.spill);
			const process = this.#add(
				{...record.options, retention, input, ...(spill && {spill})},
				{record, source, backend},
			);
			if (process.state.kind === 'closed') this.#scheduleEviction(process);
		}
		this.#removedLeaders.push(...removedLeaders.map(loadRoot));
	}

	/** Leaders of everything that runs here, and of what may have left orphans. */
	handOverLeaders(): ProcessRoot[] {
		return this.#listLeaders().map(storeRoot);
	}

	#create(id: string, request: StartRequest): ManagedProcess {
		const {argv, io, timeLimitMs, keepDetachedMs, isAcknowledged = false, sandbox} = request;
		const {owner, retention, input} = this.#options;
		const spill = request.spill && this.#openSpill(id, request);
		return this.#add({
			id,
			argv,
			retention,
			input,
			tty: io.kind === 'pty',
			timeLimitMs,
			keepDetachedMs,
			isAcknowledged,
			isSandboxed: sandbox !== undefined,
			isSandboxedWithNetwork: sandbox?.hasNetwork ?? false,
			owner,
			...(io.kind === 'pty' && {terminalSize: {rows: io.rows, columns: io.columns}}),
			...(request.sharing && {sharing: request.sharing}),
			...(request.isDurable && {isDurable: true}),
			...(spill && {spill, recordsInput: request.spill?.recordsInput ?? false}),
		});
	}

	#add(options: ProcessOptions, inherited?: InheritedProcess): ManagedProcess {
		const process = new ManagedProcess(options, this.#events, inherited);
		if (process.isAlive) for (const quota of this.#options.quotas) quota.acquire();
		this.include(process);
		return process;
	}

	#openSpill(id: string, request: StartRequest): KeptOutput {
		const {openSpill} = this.#options;
		if (openSpill) return openSpill(id, request);
		throw new LongarmError('NOT_SUPPORTED', {message: 'this executor keeps no output on disk'});
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
			if (process.leader) this.#rememberLeader(process.leader);
			this.#release(process);
		}
		this.#wakeWaiters();
	}

	/** Output on disk stays readable: the process is handed on with it. */
	#release(process: ManagedProcess): void {
		const {archive, removed} = this.#options;
		const {spill} = process.options;
		const hasFailed = process.state.kind === 'failed';
		if (spill && archive && !hasFailed) {
			archive(process);
			return;
		}
		process.dispose();
		// A directory that the disk does not give back stays until the rules of the state remove it.
		if (hasFailed) spill?.discard().catch(() => {});
		removed?.(process);
	}

	async #waitUntilEach(predicate: (process: ManagedProcess) => boolean): Promise<void> {
		while (![...this].every(predicate)) await new Promise<void>(resolve => this.#waiters.push(resolve));
	}

	#wakeWaiters(): void {
		for (const resolve of this.#waiters.splice(0)) resolve();
	}
}
