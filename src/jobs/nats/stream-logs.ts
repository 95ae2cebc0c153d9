import type {Communicated} from '../../client/run/communicate.js';
import {HeadTailBuffer} from '../../shared/head-tail-buffer.js';
import type {KeptLogs} from '../command/attempt-logs.js';
import type {ItemLogs} from '../hub/hub-jobs.js';
import type {ItemAttempt} from '../item-worker.js';
import type {JetStreamLink} from './jet-stream-link.js';
import type {JobSubjects} from './job-subjects.js';

/** Bytes of each stream of an attempt that are kept; of longer ones head and tail. */
const MAX_LOG_BYTES = 64 * 1024;

/** Keeps the output of attempts in the stream of results; of each item the last one is read. */
export class StreamLogs implements KeptLogs {
	readonly #link: JetStreamLink;
	readonly #subjects: JobSubjects;

	constructor(link: JetStreamLink, subjects: JobSubjects) {
		this.#link = link;
		this.#subjects = subjects;
	}

	async write(attempt: ItemAttempt, {stdout, stderr}: Pick<Communicated, 'stdout' | 'stderr'>): Promise<void> {
		if (stdout.totalBytes + stderr.totalBytes === 0) return;
		const {jobId, itemId, rowIndex, attempt: number} = attempt;
		const logs: ItemLogs = {item_id: itemId, attempt: number, stdout: cut(stdout.text), stderr: cut(stderr.text)};
		await this.#link.publish(this.#subjects.logs(jobId, rowIndex), JSON.stringify(logs));
	}

	async read(jobId: string, item: number): Promise<ItemLogs | undefined> {
		const subject = this.#subjects.logs(jobId, item);
		const message = await this.#link.findMessage(this.#subjects.resultStream, {last_by_subj: subject});
		return message && (JSON.parse(Buffer.from(message.data).toString()) as ItemLogs);
	}
}

function cut(text: string): string {
	if (Buffer.byteLength(text) <= MAX_LOG_BYTES) return text;
	const buffer = new HeadTailBuffer(MAX_LOG_BYTES);
	buffer.push(Buffer.from(text));
	return Buffer.from(buffer.markedBytes()).toString();
}
