import {mkdirSync, writeSync} from 'node:fs';
import {join} from 'node:path';
import type {StoredSpillRecord} from '../handoff/process-record.js';
import type {Chunk, Exit} from '../output/output-log.js';
import type {KeptOutput, OutputBlock} from '../output/output-spill.js';
import {AppendQueue, MAX_GATHERED_BYTES, type WriteBytes} from './append-queue.js';
import {presentMs, repair, writeHeader} from './begin-spill.js';
import {EndedSpill} from './ended-spill.js';
import {punchHole as punchHoleOfSystem} from './file-calls.js';
import {HeldEvents} from './held-events.js';
import {MIN_DROPPED_SHARE, OldestDropper} from './oldest-dropper.js';
import {type ExitRecord, type ProcessMeta, StartingMeta, writeExit} from './process-meta.js';
import {newExtent, type SpillExtent} from './spill-extent.js';
import {ASIDE_FILE, INDEX_FILE, OUTPUT_FILE, openDescriptors, SpillFiles} from './spill-files.js';
import type {FullSpillPolicy, SpillOptions} from './spill-options.js';
import {encodeRecord, packSize, RECORD_BYTES, type SpillRecord} from './spill-record.js';
import {closeQuietly, createPrivateFile, PRIVATE_DIRECTORY_MODE, removeQuietly, toStateError} from './state-files.js';
import {StoredSpill} from './stored-spill.js';

/** Time between two attempts to write what the disk did not take. */
export const RETRY_BLOCKED_MS = 250;
/** Output on disk whose records are still in memory. */
const MAX_UNINDEXED_BYTES = 256 * 1024;
/** Bytes that sizes, input and markers of one process take on disk; beyond it they are not recorded. */
export const MAX_ASIDE_BYTES = 16 * 1024 * 1024;
/** Bytes of them that wait in memory for the disk; beyond it they are not recorded. */
const MAX_WAITING_ASIDE_BYTES = 1024 * 1024;
const NO_BYTES = {stream: undefined, length: 0, offset: 0} as const;

/**
 * Output of one running process on disk. Pieces of one turn of the event loop are written together, the record of a
 * piece never before its bytes. Pieces that the disk does not take, or that are beyond the bound, wait in memory.
 */
export class ProcessSpill extends StoredSpill implements KeptOutput {
	readonly #maxBytes: number;
	readonly #onBlockedChange: NonNullable<SpillOptions['onBlockedChange']>;
	#onUnblocked: () => void = () => {};
	#wasBlocked = false;
	readonly #clock: () => number;
	readonly #write: WriteBytes;
	readonly #dropper: OldestDropper;
	readonly #out: AppendQueue;
	readonly #idx: AppendQueue;
	#aside: AppendQueue | undefined;
	#asideBytes: number;
	readonly #onFull: FullSpillPolicy;
	readonly #held = new HeldEvents();
	/** Output whose records are on disk. */
	#indexedBytes: number;
	#lastSeq: number;
	#writtenSeq: number;
	#ms: number;
	/** Until the pid is known. */
	#startingMeta: StartingMeta | undefined;
	#unsavedExit: ExitRecord | undefined;
	#isScheduled = false;
	#retry: NodeJS.Timeout | undefined;
	/** `closing` has the last event; `closed` has no files to write to. */
	#state: 'open' | 'closing' | 'closed' = 'open';
	readonly #record = Buffer.alloc(RECORD_BYTES);

	private constructor(files: SpillFiles, extent: SpillExtent, options: SpillOptions, clock: () => number) {
		super(files, extent);
		const {descriptors} = files;
		this.#maxBytes = options.maxBytes ?? Number.POSITIVE_INFINITY;
		this.#onFull = options.onFull ?? 'pause';
		this.#onBlockedChange = options.onBlockedChange ?? (() => {});
		this.#clock = options.clock ?? clock;
		this.#write = options.write ?? writeSync;
		this.#dropper = new OldestDropper(descriptors, {
			maxBytes: this.#maxBytes,
			write: this.#write,
			punchHole: options.punchHole ?? punchHoleOfSystem,
		});
		this.#out = new AppendQueue(descriptors.out, extent.outBytes, this.#write);
		this.#idx = new AppendQueue(descriptors.idx, extent.records * RECORD_BYTES, this.#write);
		if (descriptors.aside !== undefined) this.#aside = this.#createAsideQueue(descriptors.aside, extent.asideBytes);
		this.#asideBytes = extent.asideBytes;
		this.#indexedBytes = extent.outBytes;
		this.#lastSeq = extent.last?.seq ?? 0;
		this.#writtenSeq = this.#lastSeq;
		this.#ms = extent.last?.ms ?? extent.startedAtMs;
	}

	/** Makes the directory and its files; throws STATE_UNUSABLE and leaves nothing behind where that is not possible. */
	static create(directory: string, meta: ProcessMeta, options: SpillOptions = {}): ProcessSpill {
		try {
			mkdirSync(directory, {mode: PRIVATE_DIRECTORY_MODE});
		} catch (error) {
			throw toStateError(error, directory);
		}
		const opened: number[] = [];
		try {
			for (const name of [OUTPUT_FILE, INDEX_FILE]) opened.push(createPrivateFile(join(directory, name)));
			const descriptors = {out: opened[0]!, idx: opened[1]!, aside: undefined};
			writeHeader(descriptors, meta.startedAtMs);
			const startingMeta = new StartingMeta(directory, meta);
			const files = new SpillFiles(directory, descriptors);
			const createdAt = performance.now();
			const clock = (): number => meta.startedAtMs + performance.now() - createdAt;
			const spill = new ProcessSpill(files, newExtent(meta.startedAtMs), options, clock);
			spill.#startingMeta = startingMeta;
			return spill;
		} catch (error) {
			for (const fd of opened) closeQuietly(fd);
			removeQuietly(directory);
			throw toStateError(error, directory);
		}
	}

	/**
	 * Goes on with the files of a process that still runs, behind all that is whole: hand over again what is above
	 * `writtenSeq`.
	 */
	static reopen(directory: string, options: SpillOptions = {}): ProcessSpill {
		try {
			const descriptors = openDescriptors(directory, 'write');
			const files = new SpillFiles(directory, descriptors);
			try {
				return new ProcessSpill(files, repair(descriptors, presentMs()), options, presentMs);
			} catch (error) {
				files.release();
				throw error;
			}
		} catch (error) {
			throw toStateError(error, directory);
		}
	}

	/** Reads the output of a process that has ended. */
	static openEnded(directory: string): EndedSpill {
		return EndedSpill.open(directory);
	}

	get writtenSeq(): number {
		return this.#writtenSeq;
	}

	get recordCount(): number {
		return Math.floor(this.#idx.size / RECORD_BYTES);
	}

	/** Bytes on disk, the dropped ones included. */
	get outputBytes(): number {
		return this.#out.size;
	}

	get isBlocked(): boolean {
		return this.blockedOn !== undefined;
	}

	get blockedOn(): OutputBlock | undefined {
		if (this.#retry !== undefined) return 'disk';
		return this.#held.isFull ? 'limit' : undefined;
	}

	/** Why output is not written, in the words of the system or as the bound; undefined unless it is blocked. */
	get blockedBy(): string | undefined {
		const failure = this.#out.failure ?? this.#idx.failure ?? this.#aside?.failure;
		if (this.#retry !== undefined) return failure?.message ?? 'the exit cannot be saved';
		return this.#held.isFull ? `its ${this.#maxBytes} bytes are full` : undefined;
	}

	get lastMs(): number {
		return this.#ms;
	}

	onUnblocked(listener: () => void): void {
		this.#onUnblocked = listener;
	}

	/** Its pid is for people: a disk that does not take it costs nothing else. */
	recordStart(pid: number): void {
		try {
			this.#startingMeta?.writePid(pid);
		} catch {}
		this.#startingMeta?.close();
	}

	append(chunk: Chunk): void {
		if (this.#state !== 'open') return;
		if (this.#held.isEmpty && this.#makeRoom(chunk.bytes.length)) return this.#appendChunk(chunk);
		this.#held.addOutput(chunk);
		this.#checkBlocked();
	}

	/** Saved at once, also while output before it has to wait. */
	recordExit({exitCode, reason, sandboxDenied, seq}: Exit & {readonly seq: number}): void {
		if (this.#state !== 'open') return;
		const denied = sandboxDenied !== undefined && {sandboxDenied};
		this.#unsavedExit = {exitCode, reason, ...denied, seq, ms: this.#now()};
		this.#saveExit();
		if (!this.#held.recordExit(seq)) this.#appendRecord({...NO_BYTES, kind: 'exit', seq, ms: this.#now()});
		// Its record goes to disk at the end of the turn, most often with that of the close.
		if (this.#unsavedExit) this.flush();
	}

	/** The last event. Output beyond the bound is written now: there is no more than was handed over. */
	recordClose(seq: number): void {
		if (this.#state !== 'open') return;
		for (const held of this.#held.take()) {
			if ('bytes' in held) this.#appendChunk(held);
			else this.#appendRecord({...NO_BYTES, kind: 'exit', seq: held.seq, ms: this.#now()});
		}
		this.#appendRecord({...NO_BYTES, kind: 'closed', seq, ms: this.#now()});
		this.#state = 'closing';
		this.flush();
	}

	recordResize(rows: number, cols: number): void {
		if (!this.#takesAside(0)) return;
		this.#appendAside({kind: 'resize', length: 0, offset: packSize(rows, cols)});
	}

	/** Never hand it input that the terminal does not show. */
	recordInput(bytes: Uint8Array): void {
		this.#recordAside('input', bytes);
	}

	/** A point of interest in a recording. */
	recordMarker(label: string): void {
		this.#recordAside('marker', Buffer.from(label));
	}

	/** Hands everything to the kernel, unless it is blocked: then a timer tries again. */
	flush(): void {
		if (this.#retry !== undefined || this.#state === 'closed') return;
		const isWritten = this.#writeQueues() || (this.#dropForDisk() && this.#writeQueues());
		if (!isWritten) this.#retry = setTimeout(() => this.#tryAgain(), RETRY_BLOCKED_MS).unref();
		this.#checkBlocked();
	}

	handOver(): StoredSpillRecord {
		this.flush();
		const isBounded = Number.isFinite(this.#maxBytes);
		return {
			directory: this.directory,
			...(isBounded && {maxBytes: this.#maxBytes}),
			onFull: this.#onFull,
			isEnded: this.#state === 'closed',
		};
	}

	/** Lets go of the files; anything that the disk has not taken by now is lost. Readers go on. */
	close(): void {
		this.flush();
		clearTimeout(this.#retry);
		this.#retry = undefined;
		this.#checkBlocked();
		this.#finish();
	}

	#checkBlocked(): void {
		if (this.isBlocked === this.#wasBlocked) return;
		this.#wasBlocked = this.isBlocked;
		this.#onBlockedChange(this);
	}

	#tryAgain(): void {
		this.#retry = undefined;
		this.flush();
		if (!this.isBlocked) this.#onUnblocked();
	}

	/** False if the disk did not take everything. */
	#writeQueues(): boolean {
		const isExitSaved = this.#saveExit();
		if (!this.#out.flush() || this.#aside?.flush() === false || !this.#idx.flush()) return false;
		this.#writtenSeq = this.#lastSeq;
		this.#indexedBytes = this.#out.size;
		if (this.#state === 'closing' && isExitSaved) this.#finish();
		return isExitSaved;
	}

	#saveExit(): boolean {
		if (!this.#unsavedExit) return true;
		try {
			writeExit(this.directory, this.#unsavedExit);
			this.#unsavedExit = undefined;
			return true;
		} catch {
			return false;
		}
	}

	#finish(): void {
		if (this.#state === 'closed') return;
		this.#state = 'closed';
		this.#startingMeta?.close();
		this.files.release();
	}

	#appendChunk({seq, stream, bytes}: Chunk): void {
		const offset = this.#out.end;
		this.#out.append(bytes);
		this.#appendRecord({kind: 'output', stream, length: bytes.length, seq, offset, ms: this.#now()});
	}

	#appendRecord(record: SpillRecord): void {
		this.#queueRecord(record);
		const queued = Math.max(this.#out.queuedBytes, this.#idx.queuedBytes, this.#aside?.queuedBytes ?? 0);
		const unindexed = this.#out.end - this.#indexedBytes;
		if (queued >= MAX_GATHERED_BYTES || unindexed >= MAX_UNINDEXED_BYTES || this.#out.failure) this.flush();
		else this.#scheduleFlush();
	}

	#queueRecord(record: SpillRecord): void {
		encodeRecord(this.#record, 0, record);
		this.#idx.append(this.#record);
		this.#lastSeq = record.seq;
	}

	#scheduleFlush(): void {
		if (this.#isScheduled) return;
		this.#isScheduled = true;
		setImmediate(() => {
			this.#isScheduled = false;
			this.flush();
		});
	}

	#now(): number {
		this.#ms = Math.max(this.#ms, Math.floor(this.#clock()));
		return this.#ms;
	}

	#recordAside(kind: 'input' | 'marker', bytes: Uint8Array): void {
		if (!this.#takesAside(bytes.length)) return;
		this.#aside ??= this.#openAside();
		if (!this.#aside) return;
		const offset = this.#aside.end;
		this.#aside.append(bytes);
		this.#appendAside({kind, length: bytes.length, offset});
	}

	#appendAside(record: Pick<SpillRecord, 'kind' | 'length' | 'offset'>): void {
		this.#asideBytes += RECORD_BYTES + record.length;
		this.#appendRecord({...record, stream: undefined, seq: this.#lastSeq, ms: this.#now()});
	}

	#takesAside(bytes: number): boolean {
		const waiting = this.isBlocked ? this.#idx.queuedBytes + (this.#aside?.queuedBytes ?? 0) : 0;
		return this.#state === 'open' && waiting < MAX_WAITING_ASIDE_BYTES && this.#asideBytes + bytes <= MAX_ASIDE_BYTES;
	}

	/** Undefined where the file cannot be made; the next record tries again. */
	#openAside(): AppendQueue | undefined {
		try {
			const fd = createPrivateFile(join(this.directory, ASIDE_FILE));
			this.files.descriptors.aside = fd;
			return this.#createAsideQueue(fd, 0);
		} catch {
			return undefined;
		}
	}

	#createAsideQueue(fd: number, size: number): AppendQueue {
		return new AppendQueue(fd, size, this.#write);
	}

	/** False if a chunk of this size has to wait for good. */
	#makeRoom(bytes: number): boolean {
		const queued = this.#out.queuedBytes + this.#idx.queuedBytes;
		const excess = this.bytes + queued + bytes + RECORD_BYTES - this.#maxBytes;
		if (excess <= 0) return true;
		if (this.#onFull === 'pause' || !this.#dropper.isPossible(this.#out.size)) return false;
		this.flush();
		// A disk that takes nothing is waited for first.
		if (this.#retry === undefined) this.#dropOldest(Math.max(excess, this.#maxBytes * MIN_DROPPED_SHARE));
		return true;
	}

	/** Makes room on a full disk, but keeps half of what there is; false if that is not wanted or not possible. */
	#dropForDisk(): boolean {
		const code = (this.#out.failure ?? this.#idx.failure)?.code;
		if (this.#onFull === 'pause' || (code !== 'ENOSPC' && code !== 'EDQUOT')) return false;
		if (!this.#dropper.isPossible(this.#out.size)) return false;
		return this.#dropOldest(Math.min(this.#maxBytes * MIN_DROPPED_SHARE, this.bytes / 2));
	}

	/** False if there was nothing to drop. */
	#dropOldest(wantedBytes: number): boolean {
		const {dropped, firstRecord, recordCount, outputBytes} = this;
		const isAllWritten = this.#out.queuedBytes + this.#idx.queuedBytes === 0;
		const endSeq = isAllWritten ? this.#writtenSeq : undefined;
		const drop = this.#dropper.drop({dropped, firstRecord, recordCount, outputBytes, endSeq, wantedBytes});
		if (!drop) return false;
		this.moveFirstRecord(drop.firstRecord, drop.dropped);
		const note = {...NO_BYTES, offset: drop.dropped.bytes};
		this.#queueRecord({...note, kind: 'dropped', seq: this.#lastSeq, ms: this.#now()});
		this.#scheduleFlush();
		return true;
	}
}
