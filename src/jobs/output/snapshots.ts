import type {JobStore} from '../store/job-store.js';
import {type ExportOptions, exportJob} from './export-job.js';

const INTERVAL_MS = 30_000;
/** Share of the time that snapshots may take: the pause after one is at least so many times its duration. */
const PAUSE_FACTOR = 20;

/** Writes the output of a running job from time to time, so that there is something to look at. */
export class Snapshots implements AsyncDisposable {
	readonly #store: JobStore;
	readonly #path: string;
	readonly #options: ExportOptions;
	#timer: NodeJS.Timeout | undefined;
	#writing: Promise<void> | undefined;
	#isClosed = false;

	constructor(store: JobStore, path: string, options: ExportOptions) {
		this.#store = store;
		this.#path = path;
		this.#options = options;
		this.#schedule(INTERVAL_MS);
	}

	async [Symbol.asyncDispose](): Promise<void> {
		this.#isClosed = true;
		clearTimeout(this.#timer);
		await this.#writing;
	}

	#schedule(ms: number): void {
		if (this.#isClosed) return;
		this.#timer = setTimeout(() => {
			this.#writing = this.#write();
		}, ms);
		this.#timer.unref();
	}

	async #write(): Promise<void> {
		const startedAt = performance.now();
		try {
			await exportJob(this.#store, this.#path, this.#options);
		} catch {
			// The output at the end of the job tells why it cannot be written.
		}
		this.#schedule(Math.max(INTERVAL_MS, PAUSE_FACTOR * (performance.now() - startedAt)));
	}
}
