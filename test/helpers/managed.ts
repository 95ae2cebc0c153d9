import {EventEmitter, once} from 'node:events';
import {ManagedProcess, type ProcessState} from '../../src/processes/managed-process.js';
import type {LogEvent} from '../../src/processes/output/log-cursor.js';
import type {Retention} from '../../src/processes/output/output-log.js';

const PLENTY: Retention = {bytes: 64 * 1024 * 1024, chunks: 1_000_000};

/** A managed process and helpers to wait for its events. */
export class Managed {
	readonly process: ManagedProcess;
	/** Number of `closed` events. */
	closings = 0;
	readonly #news = new EventEmitter();

	constructor(retention: Retention = PLENTY) {
		const options = {id: 'p', argv: ['p'], tty: false, retention, timeLimitMs: undefined, keepDetachedMs: undefined};
		this.process = new ManagedProcess(options, {
			exited: () => {},
			closed: () => {
				this.closings++;
				this.#news.emit('news');
			},
		});
		this.process.log.watch(() => this.#news.emit('news'));
	}

	/** Waits until `probe` is true, checked after every event. */
	async until(probe: () => boolean): Promise<void> {
		while (!probe()) await once(this.#news, 'news');
	}

	reaches(kind: ProcessState['kind']): Promise<void> {
		return this.until(() => this.process.state.kind === kind);
	}

	shows(text: string): Promise<void> {
		return this.until(() => this.text.includes(text));
	}

	/** All output that is retained. */
	get text(): string {
		return Buffer.concat(this.process.log.read(0).chunks.map(({bytes}) => bytes)).toString();
	}

	/** Everything that is retained, in order. */
	get events(): LogEvent[] {
		const {exit, closedSeq} = this.process.log;
		const events: LogEvent[] = this.process.log.read(0).chunks.map(chunk => ({kind: 'output', ...chunk}));
		if (exit) events.push({kind: 'exited', ...exit});
		if (closedSeq !== undefined) events.push({kind: 'closed', seq: closedSeq});
		return events.sort((a, b) => a.seq - b.seq);
	}
}

const PID = /pid (\d+)\r?\n/;

/** Reads the pid a script printed with `echo pid $!`. */
export async function readPrintedPid(managed: Managed): Promise<number> {
	await managed.until(() => PID.test(managed.text));
	return Number(PID.exec(managed.text)![1]);
}
