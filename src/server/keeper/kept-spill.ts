import type {StoredSpillRecord} from '../../processes/handoff/process-record.js';
import type {Chunk} from '../../processes/output/output-log.js';
import type {KeptOutput, OutputBlock} from '../../processes/output/output-spill.js';
import {measureSpill, type SpillExtent} from '../../processes/spill/spill-extent.js';
import {SpillFiles} from '../../processes/spill/spill-files.js';
import {SpillIndex} from '../../processes/spill/spill-index.js';
import {toStateError} from '../../processes/spill/state-files.js';
import {StoredSpill} from '../../processes/spill/stored-spill.js';
import {LongarmError} from '../../shared/errors.js';

/** Output after which it is looked how much of it is on disk: until then it stays in memory. */
const LOOK_EVERY_BYTES = 64 * 1024;

/**
 * Output that another program writes to disk, and that is read here: up to the last event that is known here, since readers
 * get the others as they come.
 */
export class KeptSpill extends StoredSpill implements KeptOutput {
	#blockedOn: OutputBlock | undefined;
	#onBlockedChange: () => void = () => {};
	#writtenSeq = 0;
	#recordCount = 0;
	#outputBytes = 0;
	#lastMs = 0;
	#knownSeq = Number.POSITIVE_INFINITY;
	#bytesSinceLook = 0;
	/** Open while the other program writes; after that only while something is read. */
	#isOpen = true;

	/** Throws STATE_UNUSABLE where the files are missing or damaged. */
	static open(directory: string): KeptSpill {
		const files = new SpillFiles(directory);
		try {
			const descriptors = files.retain();
			try {
				return new KeptSpill(files, measureSpill(descriptors));
			} catch (error) {
				files.release();
				throw error;
			}
		} catch (error) {
			throw toStateError(error, directory);
		}
	}

	private constructor(files: SpillFiles, extent: SpillExtent) {
		super(files, extent);
		this.#note(extent);
	}

	get isBlocked(): boolean {
		return this.#blockedOn !== undefined;
	}

	/** As the other program has reported. */
	get blockedOn(): OutputBlock | undefined {
		return this.#blockedOn;
	}

	set blockedOn(blockedOn: OutputBlock | undefined) {
		this.#blockedOn = blockedOn;
		this.#onBlockedChange();
	}

	get writtenSeq(): number {
		return this.#writtenSeq;
	}

	get recordCount(): number {
		return this.#recordCount;
	}

	get outputBytes(): number {
		return this.#outputBytes;
	}

	get lastMs(): number {
		return this.#lastMs;
	}

	override get bytes(): number {
		if (this.#isOpen) this.flush();
		return super.bytes;
	}

	/** Looks how much is on disk by now. Of files that cannot be read it stays at what was whole before. */
	flush(): void {
		this.#bytesSinceLook = 0;
		try {
			this.files.with(descriptors => this.#note(measureSpill(descriptors)));
		} catch (error) {
			if (!(error instanceof LongarmError)) throw error;
		}
	}

	/** Events after this one are not known yet. */
	know(seq: number): void {
		this.#knownSeq = seq;
		this.flush();
	}

	/** Position in the output behind the known events. */
	get knownBytes(): number {
		const reader = this.openReader(this.#knownSeq);
		reader.close();
		return reader.nextByte;
	}

	/** The chunk is written elsewhere. */
	append({seq, bytes}: Chunk): void {
		this.#knownSeq = seq;
		this.#bytesSinceLook += bytes.length;
		if (this.#bytesSinceLook >= LOOK_EVERY_BYTES) this.flush();
	}

	recordExit({seq}: {readonly seq: number}): void {
		this.#knownSeq = seq;
	}

	recordClose(seq: number): void {
		this.#knownSeq = seq;
		this.close();
	}

	recordStart(): void {}

	recordResize(): void {}

	recordInput(): void {}

	/** Called when it is blocked as well: the child is not paused here, but shown as waiting. */
	onUnblocked(listener: () => void): void {
		this.#onBlockedChange = listener;
	}

	/** A program that takes the place of this one finds the keeper, and these files with it. */
	handOver(): StoredSpillRecord {
		return {directory: this.directory, isEnded: true};
	}

	/** Nothing more is written. */
	close(): void {
		if (!this.#isOpen) return;
		this.#isOpen = false;
		this.flush();
		this.files.release();
	}

	#note({last, records, outBytes, startedAtMs}: SpillExtent): void {
		const isAhead = last !== undefined && last.seq > this.#knownSeq;
		this.#writtenSeq = isAhead ? this.#knownSeq : (last?.seq ?? 0);
		this.#lastMs = last?.ms ?? startedAtMs;
		this.#recordCount = records;
		this.#outputBytes = outBytes;
		if (isAhead) this.#hideUnknown(records);
	}

	#hideUnknown(records: number): void {
		const index = new SpillIndex(this.files.descriptors.idx);
		this.#recordCount = index.find(1, records, ({seq}) => seq > this.#knownSeq);
		this.#outputBytes = index.firstOutput(this.#recordCount, records)?.record.offset ?? this.#outputBytes;
	}
}
