import {onAbort} from '../../shared/async/on-abort.js';
import {errorMessage} from '../../shared/errors.js';
import type {Logger} from '../../shared/logger.js';
import type {StartRequest} from '../prepare-spawn.js';
import type {ProcessTable} from '../process-table.js';
import {CaptureFailedError, captureSnapshot, MAX_ARGUMENT_BYTES, type ShellSnapshot} from './capture-snapshot.js';
import {restoreCommand, restoreScript} from './snapshot-scripts.js';

/** Shell snapshots that a session keeps. */
export const MAX_CACHED_SNAPSHOTS = 16;

interface Entry {
	/** Resolves with the snapshot, or undefined if the capture failed; rejects if no capture could run. */
	readonly snapshot: Promise<ShellSnapshot | undefined>;
	readonly cancel: AbortController;
	/** Starts that wait for the capture. */
	waiting: number;
	isSettled: boolean;
}

/** The shell snapshots of a session, least recently used first. */
export class ShellSnapshots {
	readonly #table: ProcessTable;
	readonly #logger: Logger;
	readonly #entries = new Map<string, Entry>();
	#count = 0;

	/** Captures run in `table`. */
	constructor(table: ProcessTable, logger: Logger) {
		this.#table = table;
		this.#logger = logger;
	}

	/**
	 * Changes the start of a login shell so that it loads a snapshot, captured now if there is none for the key. Returns the
	 * request as it is where there can be no snapshot.
	 */
	async apply(request: StartRequest, cancelled: AbortSignal): Promise<StartRequest> {
		const {shell, key} = request.shellSnapshot!;
		const snapshot = await this.#find(key, request, cancelled);
		if (!snapshot) return request;
		const argv = restoreCommand(shell, request.argv);
		if (Buffer.byteLength(argv[2]!) >= MAX_ARGUMENT_BYTES) return request;
		const env = {...snapshot.environment, ...request.env};
		return {...request, argv, env, inherited: restoreScript(snapshot.state)};
	}

	/** Ends all captures; their starts are cancelled before. */
	close(): void {
		this.#entries.clear();
		this.#table.endAll('force');
		this.#table.dispose();
	}

	async #find(key: string, request: StartRequest, cancelled: AbortSignal): Promise<ShellSnapshot | undefined> {
		const entry = this.#entries.get(key) ?? this.#capture(key, request);
		// Moves it behind all others.
		this.#entries.delete(key);
		this.#entries.set(key, entry);
		this.#evict();
		if (entry.isSettled) return entry.snapshot;
		entry.waiting++;
		const unlisten = onAbort(cancelled, () => this.#leave(key, entry));
		try {
			return await entry.snapshot;
		} finally {
			unlisten();
		}
	}

	/** A capture that no start waits for any more is ended; the next start begins another one. */
	#leave(key: string, entry: Entry): void {
		entry.waiting--;
		if (entry.waiting > 0 || entry.isSettled) return;
		this.#remove(key, entry);
		entry.cancel.abort();
	}

	#capture(key: string, request: StartRequest): Entry {
		const cancel = new AbortController();
		const snapshot = captureSnapshot(request, this.#table, `shell-snapshot-${++this.#count}`, cancel.signal);
		const entry: Entry = {
			snapshot: snapshot
				.catch((error: unknown) => this.#noteFailure(key, entry, request, error))
				.finally(() => {
					entry.isSettled = true;
				}),
			cancel,
			waiting: 0,
			isSettled: false,
		};
		return entry;
	}

	#noteFailure(key: string, entry: Entry, {argv}: StartRequest, error: unknown): undefined {
		// Without room for a process, for instance, the next start tries again.
		if (!(error instanceof CaptureFailedError)) this.#remove(key, entry);
		if (entry.cancel.signal.aborted) return;
		this.#logger.info('a shell snapshot could not be taken', {shell: argv[0], reason: errorMessage(error)});
	}

	#remove(key: string, entry: Entry): void {
		if (this.#entries.get(key) === entry) this.#entries.delete(key);
	}

	/** Captures that are under way stay, so that no key has two. */
	#evict(): void {
		for (const [key, {isSettled}] of this.#entries) {
			if (this.#entries.size <= MAX_CACHED_SNAPSHOTS) return;
			if (isSettled) this.#entries.delete(key);
		}
	}
}
