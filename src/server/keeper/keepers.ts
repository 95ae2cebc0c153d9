import {lstatSync} from 'node:fs';
import type {Backend} from '../../processes/backends/backend.js';
import type {ManagedProcess} from '../../processes/managed-process.js';
import type {ProcessTable} from '../../processes/process-table.js';
import {readMeta} from '../../processes/spill/process-meta.js';
import type {ProcessStore} from '../../processes/spill/process-store.js';
import {ignoreRejection} from '../../shared/async/ignore-rejection.js';
import {errorMessage} from '../../shared/errors.js';
import {isKoffiInstalled} from '../../shared/node/koffi.js';
import {OTHER_RUNTIME} from '../../shared/node/other-runtime.js';
import {randomHex} from '../../shared/random-id.js';
import {VERSION} from '../../shared/version.js';
import {generation as ownGeneration} from '../generation.js';
import {ENDS_WITH_CLIENT} from '../handlers/start-rules.js';
import type {ServerSettings} from '../options.js';
import type {DiskWaits} from '../state/disk-waits.js';
import {listHeldOnDisk} from './held-from-disk.js';
import {hostProcess} from './host-process.js';
import {Keeper} from './keeper.js';
import type {KeeperParamsOnWire} from './keeper-methods.js';
import {
	isKeeperAlive,
	type KeeperRecord,
	keeperPaths,
	listKeeperRecords,
	readKeeperLog,
	removeKeeperFiles,
} from './keeper-record.js';
import {keeperError, launchKeeper} from './launch-keeper.js';

/** Processes in one keeper; more are started in another one. */
export const MAX_PROCESSES_PER_KEEPER = 1000;
/** A keeper of this server is kept this long after its last process, for the next one. */
const IDLE_KEEPER_MS = 60_000;
/** Longest path the kernel takes for a socket, without its final NUL byte. */
const MAX_SOCKET_PATH_BYTES = 107;
const RANDOM_BYTES = 4;

export interface KeepersOptions {
	readonly settings: ServerSettings;
	/** Throws while the server ends. */
	readonly backend: () => Backend;
	/** Opens the state directory; throws STATE_UNUSABLE. */
	readonly openStore: () => ProcessStore;
	/** Table of the processes of an owner that outlive their sessions. */
	readonly tableOf: (owner: string | undefined) => ProcessTable;
	readonly diskWaits: DiskWaits;
	/** The files of some processes are no longer held: see `holds`. */
	readonly onFound: () => void;
}

/**
 * Keepers of the state directory: programs that run durable processes, which so survive the end of this server. One is
 * started when the first durable process is; those of earlier servers are found, and end when they are empty.
 */
export class Keepers {
	readonly #options: KeepersOptions;
	readonly #keepers = new Map<string, Keeper>();
	/** Keepers of earlier servers that run, until their processes are known. */
	readonly #unfound = new Set<string>();
	/** Files of processes whose start was not answered yet. */
	readonly #startingAt = new Set<string>();
	/** Keepers that this process has started and that run: its children, to be spared. */
	readonly #children = new Set<number>();
	/** Every name that was given to a keeper here. */
	readonly #names = new Set<string>();
	/** Settles when all keepers of earlier servers were asked. */
	#found: Promise<unknown> = Promise.resolve();
	#own: Promise<Keeper> | undefined;
	#idleTimer: NodeJS.Timeout | undefined;
	#isClosed = false;

	constructor(options: KeepersOptions) {
		this.#options = options;
	}

	/** Whether durable processes are possible, as far as that is known without starting one. */
	get isLikelyAvailable(): boolean {
		return this.#findFault() === undefined;
	}

	/** Process ids of the keepers of this state directory. */
	get pids(): readonly number[] {
		return [...this.#keepers.values()].map(({record}) => record.pid);
	}

	/** Process ids of those that this process has started, for a program that takes its place. */
	get childPids(): readonly number[] {
		return [...this.#children];
	}

	/** Spares keepers that an earlier program of this process has started; only that one can tell which they are. */
	spare(pids: readonly number[], backend: Backend): void {
		for (const pid of pids) {
			this.#children.add(pid);
			backend.adoptLasting?.(pid, () => this.#children.delete(pid));
		}
	}

	/** Whether the files are those of a process that a keeper runs and that is not in a table of this server yet. */
	holds(directory: string): boolean {
		if (this.#startingAt.has(directory)) return true;
		if (this.#unfound.size === 0) return false;
		try {
			return this.#unfound.has(readMeta(directory).keeper ?? '');
		} catch {
			return false;
		}
	}

	/**
	 * Checks which keepers run, and asks them for their processes; `whenFound` waits for the answers. Call before anything is
	 * done with the files of processes.
	 */
	look(stateDirectory: string): void {
		this.#look(stateDirectory, true);
	}

	/** The same for the state directory of a server that does not run, and whose files stay as they are. */
	lookAtOther(stateDirectory: string): void {
		this.#look(stateDirectory, false);
	}

	#look(stateDirectory: string, isOwn: boolean): void {
		const added: Keeper[] = [];
		for (const record of listKeeperRecords(stateDirectory)) {
			if (this.#keepers.has(record.generation)) continue;
			if (isKeeperAlive(record)) added.push(this.#add(record, stateDirectory));
			else if (isOwn) this.#bury(record, stateDirectory);
		}
		const restored = added.map(keeper => this.#restore(keeper, isOwn));
		this.#found = ignoreRejection(Promise.all([this.#found, ...restored]));
	}

	/** Settles when the processes of all keepers of earlier servers are known, as far as these answer. */
	async whenFound(): Promise<void> {
		await this.#found;
	}

	/** Starts a durable process. The params are those of the client, on the wire. */
	async start(owner: string | undefined, params: KeeperParamsOnWire<'keeper/start'>['start']): Promise<ManagedProcess> {
		const fault = this.#findFault();
		if (fault !== undefined) throw keeperError(fault);
		this.#options.tableOf(owner).requireRoom();
		const store = this.#options.openStore();
		const keeper = await this.#getOwn(store.directory);
		const directory = findFreeDirectory(store, params.processId, this.#startingAt);
		this.#startingAt.add(directory);
		try {
			return await keeper.start({owner: owner ?? null, directory, start: params});
		} finally {
			this.#startingAt.delete(directory);
		}
	}

	/** Lets go of all keepers, which go on. */
	close(): void {
		this.#isClosed = true;
		clearTimeout(this.#idleTimer);
		for (const keeper of this.#keepers.values()) keeper.close();
	}

	#findFault(): string | undefined {
		const {stateDirectory, stateSharedAs, ownCommand, childLimits, endsWithClient} = this.#options.settings;
		if (process.platform !== 'linux' || OTHER_RUNTIME !== undefined) return 'they need Node on Linux';
		if (stateDirectory === undefined) return 'this server keeps nothing on disk';
		if (endsWithClient && stateSharedAs !== undefined) return ENDS_WITH_CLIENT;
		if (ownCommand.length === 0) return 'this executor does not know the command that starts it';
		if (!isKoffiInstalled()) return 'koffi is not installed';
		if (childLimits.group) return 'the control group that limits all children together ends with this server';
		return undefined;
	}

	#getOwn(stateDirectory: string): Promise<Keeper> {
		clearTimeout(this.#idleTimer);
		const launch = (): Promise<Keeper> => {
			const own = this.#launch(stateDirectory);
			this.#own = own;
			own.catch(() => {
				if (this.#own === own) this.#own = undefined;
			});
			return own;
		};
		if (!this.#own) return launch();
		const known = this.#own;
		return known.then(keeper => {
			if (keeper.isOpen && keeper.size < MAX_PROCESSES_PER_KEEPER) return keeper;
			// Another start may have launched the next one meanwhile.
			return this.#own === known || !this.#own ? launch() : this.#getOwn(stateDirectory);
		});
	}

	async #launch(stateDirectory: string): Promise<Keeper> {
		const {settings, backend} = this.#options;
		const generation = this.#nextGeneration(stateDirectory);
		const {socket} = keeperPaths(stateDirectory, generation);
		if (Buffer.byteLength(socket) > MAX_SOCKET_PATH_BYTES) {
			throw keeperError(`the path ${socket} is too long for a socket`);
		}
		const {pid, ended} = await launchKeeper(settings, backend(), {stateDirectory, generation});
		this.#children.add(pid);
		void ended.then(() => this.#children.delete(pid));
		const record = listKeeperRecords(stateDirectory).find(each => each.generation === generation && each.pid === pid);
		if (!record) throw keeperError('the keeper is gone');
		settings.logger.info('keeper of durable processes started', {keeper: generation, pid, version: VERSION});
		const keeper = this.#add(record, stateDirectory);
		await keeper.restore();
		return keeper;
	}

	/** A server has one keeper at a time, and another one after that has ended or is full. */
	#nextGeneration(stateDirectory: string): string {
		const taken = new Set(listKeeperRecords(stateDirectory).map(({generation}) => generation));
		const own = ownGeneration();
		let generation = own;
		for (let count = 2; taken.has(generation) || this.#names.has(generation); count++) {
			generation = `${own}-${count}`;
		}
		this.#names.add(generation);
		return generation;
	}

	#add(record: KeeperRecord, stateDirectory: string): Keeper {
		const {generation} = record;
		const keeper: Keeper = new Keeper(record, {
			socket: keeperPaths(stateDirectory, generation).socket,
			logger: this.#options.settings.logger,
			isTaken: held => this.#options.tableOf(held.owner ?? undefined).find(held.processId)?.isAlive === true,
			host: (held, {generation: its}, seq) =>
				hostProcess(this.#options.tableOf(held.owner ?? undefined), held, its, seq),
			onFound: () => this.#handleFound(generation),
			onBlockedChange: (process, reason) => this.#noteBlocked(process, reason),
			onEmpty: () => this.#handleEmpty(keeper),
			onGone: () => {
				this.#keepers.delete(generation);
				this.#bury(record, stateDirectory);
				this.#handleFound(generation);
			},
		});
		this.#keepers.set(generation, keeper);
		this.#unfound.add(generation);
		return keeper;
	}

	/** Removes what a keeper has left; one that ends in order leaves nothing. */
	#bury({generation, pid}: KeeperRecord, stateDirectory: string): void {
		const said = readKeeperLog(stateDirectory, generation);
		if (said !== '') this.#options.settings.logger.error('a keeper has failed', {keeper: generation, pid, said});
		try {
			removeKeeperFiles(stateDirectory, generation);
		} catch (error) {
			const fields = {keeper: generation, error: errorMessage(error)};
			this.#options.settings.logger.warn('the files of a keeper that is gone cannot be removed', fields);
		}
	}

	async #restore(keeper: Keeper, isOwn: boolean): Promise<void> {
		const {logger} = this.#options.settings;
		const {generation, record} = keeper;
		try {
			await keeper.restore();
			logger.info('keeper of an earlier server found', {keeper: generation, pid: record.pid, processes: keeper.size});
		} catch (error) {
			const fields = {keeper: generation, pid: record.pid, error: errorMessage(error)};
			logger.warn('a keeper of an earlier server does not answer', fields);
			if (!isOwn) return;
			for (const held of listHeldOnDisk(this.#options.openStore(), generation)) keeper.follow(held);
		}
	}

	#noteBlocked({id, options: {spill}}: ManagedProcess, reason: string | undefined): void {
		if (spill?.blockedOn === 'disk') this.#options.diskWaits.begin(spill.directory, id, reason);
		else if (spill) this.#options.diskWaits.end(spill.directory);
	}

	/** Its processes that are not followed by now have ended: their files tell how. */
	#handleFound(generation: string): void {
		if (this.#unfound.delete(generation) && !this.#isClosed) this.#options.onFound();
	}

	/** One of an earlier server is not needed any more; the own one may be soon. */
	#handleEmpty(keeper: Keeper): void {
		if (this.#isClosed) return;
		const isOwn = this.#names.has(keeper.generation);
		if (!isOwn) void keeper.end();
		else this.#idleTimer = setTimeout(() => void keeper.end(), IDLE_KEEPER_MS).unref();
	}
}

function findFreeDirectory(store: ProcessStore, id: string, taken: ReadonlySet<string>): string {
	const directory = store.directoryFor(id);
	const isFree = !taken.has(directory) && lstatSync(directory, {throwIfNoEntry: false}) === undefined;
	return isFree ? directory : `${directory}~${randomHex(RANDOM_BYTES)}`;
}
