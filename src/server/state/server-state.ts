import type {StoredSpillRecord} from '../../processes/handoff/process-record.js';
import type {ManagedProcess} from '../../processes/managed-process.js';
import type {Retention} from '../../processes/output/output-log.js';
import type {KeptOutput} from '../../processes/output/output-spill.js';
import type {StartRequest} from '../../processes/prepare-spawn.js';
import {UNSHARED} from '../../processes/process-sharing.js';
import {type ProcessMeta, readMeta} from '../../processes/spill/process-meta.js';
import {ProcessStore} from '../../processes/spill/process-store.js';
import type {SpillOptions} from '../../processes/spill/spill-options.js';
import {makeDirectories} from '../../processes/spill/state-files.js';
import type {StoredProcess} from '../../processes/spill/stored-process.js';
import {errorMessage, LongarmError} from '../../shared/errors.js';
import type {Logger} from '../../shared/logger.js';
import {generation} from '../generation.js';
import type {DiskWaits} from './disk-waits.js';
import {restoreProcess} from './restore-process.js';
import {adoptStatePart, isStateInUse, listStateParts, openStatePart, wasUsed} from './state-parts.js';

/** Time between two looks at what may be removed. */
const RETAIN_INTERVAL_MS = 10 * 60_000;
/** The same in processes that have ended since. */
const RETAIN_EVERY_ENDED = 100;

export interface StateRules {
	/** Time an ended process is kept for. */
	readonly maxAgeMs: number;
	/** Output of all ended processes on disk. */
	readonly maxBytes: number;
	/** Ended processes. */
	readonly maxCount: number;
}

export interface ServerStateOptions extends StateRules {
	/** Undefined for a server that keeps nothing on disk. */
	readonly directory: string | undefined;
	/** Name of this server among those that share the directory; undefined for a directory of its own. */
	readonly sharedAs: string | undefined;
	readonly logger: Logger;
	readonly diskWaits: DiskWaits;
	/** Retention of a restored process in memory. */
	readonly retention: Retention;
	/** Takes a process of an earlier server. */
	readonly adopt: (process: ManagedProcess) => void;
	/** Keepers write to files in the directory, too: looks which ones run, and tells whether files are in use by one. */
	readonly look: (directory: string) => void;
	/** The same for the directory of a server that does not run. */
	readonly lookAtOther: (directory: string) => void;
	readonly isHeld: (directory: string) => boolean;
	/** Processes whose files are on disk. */
	readonly processes: () => Iterable<ManagedProcess>;
	/** Forgets an ended process whose files are gone. */
	readonly forget: (process: ManagedProcess) => void;
}

/**
 * State of a server on disk: the output of processes that ask for it, and so everything about those that have ended. The directory is opened, and locked, when it is first needed.
 */
export class ServerState {
	readonly #options: ServerStateOptions;
	#store: ProcessStore | undefined;
	#timer: NodeJS.Timeout | undefined;
	#endedCount = 0;

	constructor(options: ServerStateOptions) {
		this.#options = options;
	}

	/** Whether output can be kept on disk, as far as that is known without trying. */
	get isConfigured(): boolean {
		return this.#options.directory !== undefined;
	}

	/** The store if it is open. */
	get store(): ProcessStore | undefined {
		return this.#store;
	}

	/** Opens the directory and finds the processes of earlier servers; no-op if that was done. Throws STATE_UNUSABLE. */
	open(): ProcessStore {
		if (this.#store) return this.#store;
		const {directory, sharedAs} = this.#options;
		if (directory === undefined)
			throw new LongarmError('NOT_SUPPORTED', {message: 'this server keeps nothing on disk'});
		if (sharedAs === undefined) return this.#use(ProcessStore.open(directory));
		return this.#use(openStatePart(directory, sharedAs, {mayCreate: true})!);
	}

	#use(store: ProcessStore): ProcessStore {
		this.#store = store;
		this.#options.look(store.directory);
		this.#restoreAll(store);
		this.#timer = setInterval(() => void this.retain(), RETAIN_INTERVAL_MS).unref();
		void this.retain();
		return store;
	}

	/** Goes on with the lock of the program that this one has taken the place of; `restoreRest` follows. */
	adoptLock(descriptor: number): void {
		const {directory, sharedAs} = this.#options;
		if (directory === undefined) return;
		if (sharedAs === undefined) this.#store = ProcessStore.adopt(directory, descriptor);
		else this.#store = adoptStatePart(directory, descriptor);
	}

	/** Finds the processes on disk that were not handed over. */
	restoreRest(): void {
		if (this.#store) this.#use(this.#store);
	}

	/** Output of a process that was handed over. */
	reopenSpill({directory, isEnded, maxBytes, onFull}: StoredSpillRecord): KeptOutput {
		if (isEnded) return this.open().openEnded(directory);
		const id = readMeta(directory).id;
		return this.open().reopen(directory, this.#spillOptions(id, {maxBytes, onFull}));
	}

	/**
	 * Opens the directory if there is one to find processes in, and finds those that servers have left that do not run. A
	 * failure is logged, and thrown when the directory is needed.
	 */
	openIfPresent(): void {
		const {directory, sharedAs, logger} = this.#options;
		if (this.#store || directory === undefined) return;
		const warn = (error: unknown): void => {
			const fields = {directory, error: errorMessage(error)};
			logger.warn('the state directory cannot be used: no output and no processes can be kept', fields);
		};
		try {
			if (!wasUsed(directory)) return;
		} catch (error) {
			// The directory belongs to another user, for example.
			return warn(error);
		}
		try {
			const store = sharedAs === undefined ? this.open() : openStatePart(directory, sharedAs, {mayCreate: false});
			if (store && !this.#store) this.#use(store);
		} catch (error) {
			warn(error);
		}
		this.findKept();
	}

	/** Finds the processes that were kept by servers that share the directory and do not run. */
	findKept(): void {
		const {directory, sharedAs, lookAtOther} = this.#options;
		if (directory === undefined || sharedAs === undefined) return;
		const others = listStateParts(directory).filter(part => part !== this.#store?.directory && !isStateInUse(part));
		for (const part of others) lookAtOther(part);
	}

	/**
	 * Paths that no sandbox may show. They are made before they are needed: one that is missing cannot be hidden. Where
	 * nothing can be hidden without refusing the sandbox, only a directory that is in use counts.
	 */
	prepareHiding(canHide: boolean): readonly string[] {
		const {directory} = this.#options;
		if (directory === undefined || (!canHide && !wasUsed(directory))) return [];
		try {
			if (canHide) makeDirectories(directory);
		} catch {
			// Then there is nothing in it to hide, and nothing can be put there later.
		}
		return [directory];
	}

	/** Files for the output of a process that is about to be started. */
	openSpill(id: string, request: StartRequest, owner: string | undefined): KeptOutput {
		return this.open().create(toMeta(id, request, owner), this.#spillOptions(id, request.spill ?? {}));
	}

	#spillOptions(id: string, {maxBytes, onFull}: NonNullable<StartRequest['spill']>): SpillOptions {
		const {diskWaits} = this.#options;
		return {
			...(maxBytes !== undefined && {maxBytes}),
			...(onFull !== undefined && {onFull}),
			onBlockedChange: ({directory, blockedOn, blockedBy}) => {
				if (blockedOn === 'disk') diskWaits.begin(directory, id, blockedBy);
				else diskWaits.end(directory);
			},
		};
	}

	/** A process whose output is on disk has ended. */
	noteEnded(): void {
		if (++this.#endedCount < RETAIN_EVERY_ENDED) return;
		this.#endedCount = 0;
		void this.#removeExcess();
	}

	/** Without a look at the disk, which takes long where many are kept: all of them are known. */
	async #removeExcess(): Promise<void> {
		const {maxBytes, maxCount, processes, forget, logger} = this.#options;
		const ended = Array.from(processes(), process => ({process, spill: process.options.spill}))
			.filter(({process: {state}}) => state.kind === 'closed' || state.kind === 'lost')
			.filter((each): each is {process: ManagedProcess; spill: KeptOutput} => each.spill !== undefined)
			.sort((one, other) => one.spill.lastMs - other.spill.lastMs);
		let count = ended.length;
		let total = ended.reduce((sum, {spill}) => sum + spill.bytes, 0);
		for (const {process, spill} of ended) {
			if (count <= maxCount && total <= maxBytes) return;
			count--;
			total -= spill.bytes;
			forget(process);
			try {
				await spill.discard();
			} catch (error) {
				logger.warn('an ended process cannot be removed', {process: process.id, error: errorMessage(error)});
			}
		}
	}

	/** Removes ended processes beyond the rules, the oldest first, and what cannot be read. */
	async retain(): Promise<void> {
		const {maxAgeMs, maxBytes, maxCount, processes, forget, logger, isHeld} = this.#options;
		const living = this.#findLiving();
		const isInUse = (directory: string): boolean => isHeld(directory) || living.has(directory);
		try {
			const rules = {maxAgeMs, maxTotalBytes: maxBytes, maxCount, isInUse, nowMs: Date.now()};
			const removed = new Set(await this.#store?.retain(rules));
			if (removed.size === 0) return;
			const isRemoved = ({options}: ManagedProcess): boolean => removed.has(options.spill?.directory ?? '');
			for (const process of Array.from(processes()).filter(isRemoved)) forget(process);
		} catch (error) {
			logger.warn('ended processes cannot be removed from the state directory', {error: errorMessage(error)});
		}
	}

	#findLiving(): Set<string> {
		const living = [...this.#options.processes()].filter(({state}) => state.kind !== 'closed' && state.kind !== 'lost');
		return new Set(living.flatMap(({options}) => options.spill?.directory ?? []));
	}

	/** Lets another server use the directory. */
	close(): void {
		clearInterval(this.#timer);
		this.#store?.close();
		this.#store = undefined;
	}

	/** Finds processes whose files were held by a keeper before. */
	restoreReleased(): void {
		if (this.#store) this.#restoreAll(this.#store);
	}

	#restoreAll(store: ProcessStore): void {
		const {logger, adopt, retention, isHeld} = this.#options;
		const known = new Set([...this.#options.processes()].map(({options}) => options.spill?.directory));
		const onDamaged = (directory: string, error: Error): void =>
			logger.warn('output on disk cannot be read', {directory, error: error.message});
		const isInUse = (directory: string): boolean => known.has(directory) || isHeld(directory);
		for (const stored of store.list({onDamaged, isInUse})) {
			if (isInUse(stored.directory)) continue;
			this.#tellTorn(stored);
			try {
				adopt(restoreProcess(stored, store.openEnded(stored.directory), retention));
			} catch (error) {
				onDamaged(stored.directory, error as Error);
			}
		}
	}

	#tellTorn({id, tornBytes}: StoredProcess): void {
		if (tornBytes === 0) return;
		this.#options.logger.warn('the end of the output of a process was not whole and was cut off', {
			process: id,
			bytes: tornBytes,
		});
	}
}

export function toMeta(id: string, request: StartRequest, owner: string | undefined): ProcessMeta {
	const {name, labels, observe, drive} = request.sharing ?? UNSHARED;
	const {io, spill} = request;
	return {
		version: 1,
		id,
		...(name !== undefined && {name}),
		labels: {...labels},
		...(owner !== undefined && {owner}),
		share: {observe, drive},
		argv: [...request.argv],
		cwd: Buffer.from(request.cwd).toString(),
		tty: io.kind === 'pty',
		...(io.kind === 'pty' && {rows: io.rows, cols: io.columns}),
		startedAtMs: Date.now(),
		generation: generation(),
		durable: request.isDurable ?? false,
		...(spill?.recordsInput && {record: {input: true}}),
	};
}
