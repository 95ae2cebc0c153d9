/** Failures that are remembered, so that going over a tree again does not tell them again. */
const MAX_REMEMBERED_FAILURES = 10_000;

/** What is told of a copy when it is over. */
export interface CopySummary {
	/** Files and links that were copied. */
	readonly files: number;
	/** Bytes of content that travelled. */
	readonly bytes: number;
	/** Files and links that were there already. */
	readonly skipped: number;
	/** Bytes of files that were there in part, from an earlier command or from before a lost link. */
	readonly resumedBytes: number;
	readonly failed: number;
	/** How it was made sure of that what arrived is what was sent. */
	readonly checked: 'checksum' | 'read-back';
}

/** Counts what a copy does. A task may be gone through several times, when the link was lost in between. */
export class CopyStats {
	/** What is worked on now, for people. */
	label = '';
	/** Bytes in all; undefined while nobody knows. */
	total: number | undefined;
	/** The weakest of all tasks. */
	checked: CopySummary['checked'] = 'checksum';
	readonly #report: (line: string) => void;
	readonly #remembered = new Set<string>();
	#files = 0;
	#bytes = 0;
	#skipped = 0;
	#resumedBytes = 0;
	#failed = 0;
	/** Bytes of finished tasks. */
	#reachedBefore = 0;
	/** Bytes of this task that are where they belong, and files that are, counted from its last beginning. */
	#reached = 0;
	#skippedNow = 0;
	#filesInTask = 0;
	/** Names that were on their way when the link was lost: those that are there now were copied. */
	#underWay: ReadonlySet<string> = new Set();

	/** `report` gets a line about each failure. */
	constructor(report: (line: string) => void) {
		this.#report = report;
	}

	get summary(): CopySummary {
		const {files, skipped} = this;
		return {
			files,
			bytes: this.#bytes,
			skipped,
			resumedBytes: this.#resumedBytes,
			failed: this.#failed,
			checked: this.checked,
		};
	}

	get files(): number {
		return this.#files;
	}

	/** Files of an earlier round are found in their place in this one; they were copied all the same. */
	get skipped(): number {
		return this.#skipped + this.#skippedNow;
	}

	/** Bytes that are where they belong, of all tasks. */
	get reached(): number {
		return this.#reachedBefore + this.#reached;
	}

	/** Bytes that travelled. */
	get moved(): number {
		return this.#bytes;
	}

	/** The task is gone through from its beginning, for the first time or again. */
	begin(): void {
		this.#reached = 0;
		this.#skippedNow = -this.#filesInTask;
	}

	endTask(): void {
		this.#reachedBefore += this.#reached;
		this.#skipped += Math.max(0, this.#skippedNow);
		this.#reached = this.#skippedNow = this.#filesInTask = 0;
		this.#underWay = new Set();
	}

	move(bytes: number): void {
		this.#bytes += bytes;
		this.#reached += bytes;
	}

	copied(files: number): void {
		this.#files += files;
		this.#filesInTask += files;
	}

	/** These are going to travel, until it is said that they did. */
	send(names: readonly string[]): void {
		this.#underWay = new Set(names);
	}

	/** A file that is there, of so many bytes. */
	skip(name: string, bytes: number): void {
		if (this.#underWay.has(name)) this.copied(1);
		else this.#skippedNow++;
		this.#reached += bytes;
	}

	/** A part of a file is there; it is gone back to when it turns out to be another. */
	resume(bytes: number): void {
		this.#resumedBytes += bytes;
		this.#reached += bytes;
	}

	/** Bytes that have to travel again. */
	retract(bytes: number): void {
		this.#reached -= bytes;
	}

	fail(place: string, message: string): void {
		const line = `error: ${place}: ${message}`;
		if (this.#remembered.has(line)) return;
		if (this.#remembered.size < MAX_REMEMBERED_FAILURES) this.#remembered.add(line);
		this.#failed++;
		this.#report(line);
	}
}
