import type {StoredSpillRecord} from '../handoff/process-record.js';
import type {Exit} from '../output/output-log.js';
import type {KeptOutput} from '../output/output-spill.js';
import {readExit} from './process-meta.js';
import {measureSpill, type SpillExtent} from './spill-extent.js';
import {SpillFiles} from './spill-files.js';
import {toStateError} from './state-files.js';
import {StoredSpill} from './stored-spill.js';

/** Output of a process that nothing writes any more, as far as it is whole. Its files are open only while they are read. */
export class EndedSpill extends StoredSpill implements KeptOutput {
	readonly isBlocked = false;
	readonly writtenSeq: number;
	readonly recordCount: number;
	readonly outputBytes: number;
	readonly lastMs: number;
	/** Undefined for a process whose server did not live to see it. */
	readonly exit: (Exit & {readonly seq: number}) | undefined;
	/** Undefined if its streams were not read to their end. */
	readonly closedSeq: number | undefined;

	private constructor(files: SpillFiles, extent: SpillExtent) {
		super(files, extent);
		const {last, records, outBytes} = extent;
		this.writtenSeq = last?.seq ?? 0;
		this.recordCount = records;
		this.outputBytes = outBytes;
		this.lastMs = last?.ms ?? extent.startedAtMs;
		this.closedSeq = last?.kind === 'closed' ? last.seq : undefined;
		const exit = readExit(files.directory);
		if (!exit) return;
		const {exitCode, reason, sandboxDenied, seq} = exit;
		const denied = sandboxDenied !== undefined && {sandboxDenied};
		// The exit is saved at once, also while output before it has to wait for the disk.
		this.exit = {exitCode, reason, ...denied, seq: Math.min(seq, this.writtenSeq + 1)};
	}

	/** Throws STATE_UNUSABLE where the files are missing or damaged. */
	static open(directory: string): EndedSpill {
		try {
			const files = new SpillFiles(directory);
			return files.with(descriptors => new EndedSpill(files, measureSpill(descriptors)));
		} catch (error) {
			throw toStateError(error, directory);
		}
	}

	/** Number that the next event would have. */
	get nextSeq(): number {
		return Math.max(this.writtenSeq, this.exit?.seq ?? 0) + 1;
	}

	flush(): void {}

	close(): void {}

	handOver(): StoredSpillRecord {
		return {directory: this.directory, isEnded: true};
	}

	onUnblocked(): void {}

	recordStart(): void {}

	recordResize(): void {}

	recordInput(): void {}

	append(): void {
		throw new Error('output after the end');
	}

	recordExit(): void {
		throw new Error('exited twice');
	}

	recordClose(): void {
		throw new Error('closed twice');
	}
}
