const UNSAFE = /[^A-Za-z0-9_-]/g;
const SEPARATOR = '.';

/** A name as one token of a subject, or part of the name of a stream: letters, digits, `_` and `-` stay as they are. */
export function encodeToken(name: string): string {
	return name.replaceAll(UNSAFE, character =>
		[...Buffer.from(character)].map(byte => `=${byte.toString(16).padStart(2, '0')}`).join(''),
	);
}

/** Last token of a subject as the number of an item. */
export function itemOf(subject: string): number {
	return Number(subject.slice(subject.lastIndexOf(SEPARATOR) + 1));
}

/** Streams and subjects of the jobs of one tenant. Items are numbers there, so their ids may hold anything. */
export class JobSubjects {
	/** Queue of items; a work queue. */
	readonly queueStream: string;
	/** Results, logs and used retries of items. */
	readonly resultStream: string;
	/** Descriptions and ends of jobs, and their rows. */
	readonly inputStream: string;
	readonly #prefix: string;

	constructor(tenant: string) {
		const token = encodeToken(tenant);
		this.queueStream = `LA_JOBS_${token}`;
		this.resultStream = `LA_RESULTS_${token}`;
		this.inputStream = `LA_INPUTS_${token}`;
		this.#prefix = `la.${token}`;
	}

	get queueSubjects(): readonly string[] {
		return [`${this.#prefix}.q.>`];
	}

	get resultSubjects(): readonly string[] {
		return [`${this.#prefix}.r.>`, `${this.#prefix}.t.>`, `${this.#prefix}.l.>`];
	}

	get inputSubjects(): readonly string[] {
		return [`${this.#prefix}.c.*`, `${this.#prefix}.i.>`];
	}

	/**
	 * An item that waits or runs; all of the job with `*`. An item that was lost has a zero more in front each time: a broker
	 * that has lost a message may still count it, and refuse another one with its subject.
	 */
	queued(pool: string, jobId: string, item: number | '*', losses = 0): string {
		return `${this.#prefix}.q.${encodeToken(pool)}.${jobId}.${'0'.repeat(losses)}${item}`;
	}

	result(jobId: string, item: number | '*'): string {
		return `${this.#prefix}.r.${jobId}.${item}`;
	}

	/** Retries that an item has used up. */
	retries(jobId: string, item: number): string {
		return `${this.#prefix}.t.${jobId}.${item}`;
	}

	/** Output of the last attempt at an item. */
	logs(jobId: string, item: number): string {
		return `${this.#prefix}.l.${jobId}.${item}`;
	}

	/** Description, cancellation and end of a job; of all jobs with `*`. */
	control(jobId: string): string {
		return `${this.#prefix}.c.${jobId}`;
	}

	/** A piece of the rows of a job. */
	rows(jobId: string, piece: number): string {
		return `${this.#prefix}.i.${jobId}.${piece}`;
	}

	/** Right to publish the items of a job. */
	lease(jobId: string): string {
		return `la-lease.${this.#prefix.slice('la.'.length)}.${jobId}`;
	}
}
