import {PathUri} from '../../../protocol/path-uri/path-uri.js';
import {describePath} from '../../paths.js';
import {FileError} from '../file-error.js';
import type {FileLocation} from '../file-location.js';
import type {Files, ListedEntry, TransferOutcome} from '../files.js';
import type {CopyFailure, CopyObserver, CopyProgress} from './copy-context.js';
import {CopyPace} from './copy-pace.js';

/** Failures that are kept: a retry that meets one of them again does not report it again. */
const MAX_KEPT_FAILURES = 10_000;

/** Figures of a finished copy. */
export interface CopySummary {
	/** Files and links that were copied. */
	readonly files: number;
	/** Bytes of content that were sent. */
	readonly bytes: number;
	/** Files and links that were at the target already. */
	readonly skipped: number;
	/** Bytes of partial files at the target, from an earlier copy or from before a lost connection. */
	readonly resumedBytes: number;
	/** Files and directories that could not be copied. */
	readonly failed: number;
	/** How the content of the target was compared with that of the source; the weakest of all files. */
	readonly checked: 'checksum' | 'read-back';
	/** Whether all that was copied is on the disk of the target: it survives a power cut. */
	readonly synced: boolean;
}

/** Length of the partial file of the current attempts that was compared: the next attempt compares what came after. */
class VerifiedPrefix {
	#key = '';
	#bytes = 0;

	get(source: ListedEntry, href: string): number {
		return this.#key === toKey(source, href) ? this.#bytes : 0;
	}

	set(source: ListedEntry, href: string, bytes: number): void {
		this.#key = toKey(source, href);
		this.#bytes = bytes;
	}
}

function toKey({size, modifiedAtMs}: ListedEntry, href: string): string {
	return `${size} ${modifiedAtMs} ${href}`;
}

/** Counters of a copy. A task may be attempted several times, when the connection was lost in between. */
export class CopyStats {
	readonly pace = new CopyPace();
	readonly verified = new VerifiedPrefix();
	readonly #observer: CopyObserver;
	readonly #failures: CopyFailure[] = [];
	/** Path and message of each kept failure, by machine. */
	readonly #knownFailures = new Map<Files, Set<string>>();
	#checked: CopySummary['checked'] = 'checksum';
	#synced = true;
	#name = '';
	#totalBytes: number | undefined;
	#files = 0;
	#sentBytes = 0;
	#skipped = 0;
	#resumedBytes = 0;
	#failed = 0;
	#remediable = 0;
	/** Bytes at the target: of finished tasks, and of the current attempt. */
	#finishedBytes = 0;
	#attemptBytes = 0;
	/** Files of the task: skipped in this attempt, and copied in all of them. */
	#attemptSkipped = 0;
	#taskFiles = 0;
	/** Counters of the attempt up to the last commit, where the next attempt goes on. */
	#committed = {bytes: 0, skipped: 0, files: 0};
	/** Names that were being sent when the connection was lost; those found at the target afterwards were copied. */
	#inFlight: ReadonlySet<string> = new Set();

	constructor(observer: CopyObserver = {}) {
		this.#observer = observer;
	}

	get summary(): CopySummary {
		return {
			files: this.#files,
			bytes: this.#sentBytes,
			// Files copied in an earlier attempt are found at the target in this one; they count as copied.
			skipped: this.#skipped + this.#attemptSkipped,
			resumedBytes: this.#resumedBytes,
			failed: this.#failed,
			checked: this.#checked,
			synced: this.#synced,
		};
	}

	/** The first failures, up to a limit; `summary.failed` counts all of them. */
	get failures(): readonly CopyFailure[] {
		return this.#failures;
	}

	/** Failures of entries that were not refused for what they are. */
	get remediable(): number {
		return this.#remediable;
	}

	/** Grows from attempt to attempt while the task gets further: bytes and files that are known to be at the target. */
	get reached(): number {
		return this.#attemptBytes + this.#taskFiles + this.#attemptSkipped;
	}

	get progress(): CopyProgress {
		return {
			name: this.#name,
			files: this.#files,
			bytes: this.#finishedBytes + this.#attemptBytes,
			sentBytes: this.#sentBytes,
			totalBytes: this.#totalBytes,
		};
	}

	setTotal(bytes: number | undefined): void {
		this.#totalBytes = bytes;
		this.#notify();
	}

	/** Files are compared by reading them back from now on. */
	weakenCheck(): void {
		this.#checked = 'read-back';
	}

	/** Files are left to the system of the target to be written to its disk. */
	skipSync(): void {
		this.#synced = false;
	}

	/** The task is gone through from where it was committed last. */
	startAttempt(): void {
		const {bytes, skipped, files} = this.#committed;
		this.#attemptBytes = bytes;
		this.#attemptSkipped = skipped + files - this.#taskFiles;
		this.#notify();
	}

	/** The next attempt does not look again at anything that was counted so far. */
	commit(): void {
		this.#committed = {bytes: this.#attemptBytes, skipped: this.#attemptSkipped, files: this.#taskFiles};
	}

	finishTask(): void {
		this.#finishedBytes += this.#attemptBytes;
		this.#skipped += Math.max(0, this.#attemptSkipped);
		this.#attemptBytes = this.#attemptSkipped = this.#taskFiles = 0;
		this.#committed = {bytes: 0, skipped: 0, files: 0};
		this.#inFlight = new Set();
	}

	startEntry(name: string): void {
		this.#name = name;
		this.#notify();
	}

	/** These names are being sent, until others are. */
	markInFlight(names: readonly string[]): void {
		this.#inFlight = new Set(names);
	}

	addSentBytes(count: number): void {
		this.#sentBytes += count;
		this.#attemptBytes += count;
		this.pace.addBytes(count);
		this.#notify();
	}

	addCopiedFiles(count: number): void {
		this.#files += count;
		this.#taskFiles += count;
		this.#notify();
	}

	/** A file of that many bytes is at the target already. */
	skipFile(name: string, bytes: number): void {
		this.#attemptBytes += bytes;
		if (this.#inFlight.has(name)) return this.addCopiedFiles(1);
		this.#attemptSkipped++;
		this.#notify();
	}

	/** That many bytes of a partial file are kept. */
	resumeFile(bytes: number): void {
		this.#resumedBytes += bytes;
		this.#attemptBytes += bytes;
		this.#notify();
	}

	/** Bytes at the target that differ, and have to be sent again. */
	retractBytes(count: number): void {
		this.#attemptBytes -= count;
		this.#notify();
	}

	addFailure(location: FileLocation, error: FileError): void {
		const known = this.#knownFailures.get(location.files) ?? new Set();
		this.#knownFailures.set(location.files, known);
		const key = `${describePath(location.path)}\n${error.detail}`;
		if (known.has(key)) return;
		this.#failed++;
		if (error.code !== 'refused') this.#remediable++;
		const failure = {location, error};
		if (this.#failures.length < MAX_KEPT_FAILURES) {
			this.#failures.push(failure);
			known.add(key);
		}
		this.#observer.onFailure?.(failure);
	}

	/** Failures that an executor has named, by URI. */
	addErrors(files: Files, errors: TransferOutcome['errors']): void {
		for (const {path, message} of errors) {
			this.addFailure({files, path: PathUri.parse(path)}, new FileError('failed', message, {path}));
		}
	}

	#notify(): void {
		if (this.#observer.onProgress) this.#observer.onProgress(this.progress);
	}
}
