import type {CallSubject} from './tool-call.js';

/** Interval between two reports of progress. */
const REPORT_INTERVAL_MS = 5000;
const SECOND_MS = 1000;

/** Takes the seconds since the call, which only grow, and a line for people. */
export type ReportProgress = (seconds: number, message: string) => void;

/** Reports how far a call is, until it is disposed of. */
export class ProgressReports implements Disposable {
	subject: CallSubject | undefined;
	readonly #report: ReportProgress;
	readonly #startedAt = performance.now();
	readonly #timer: NodeJS.Timeout;
	#isAsking = false;
	#isClosed = false;

	constructor(report: ReportProgress) {
		this.#report = report;
		this.#timer = setInterval(() => void this.#tell(), REPORT_INTERVAL_MS);
	}

	[Symbol.dispose](): void {
		this.#isClosed = true;
		clearInterval(this.#timer);
	}

	/** A machine that does not answer must not keep the client from hearing that the call goes on. */
	async #tell(): Promise<void> {
		if (this.#isAsking) return this.#send('waits for the machine');
		this.#isAsking = true;
		try {
			this.#send((await this.subject?.describe()) ?? 'connecting');
		} catch {
			this.#send('the machine cannot be reached');
		} finally {
			this.#isAsking = false;
		}
	}

	#send(message: string): void {
		if (!this.#isClosed) this.#report((performance.now() - this.#startedAt) / SECOND_MS, message);
	}
}
