import {EventEmitter, once} from 'node:events';
import {ManagedProcess, type ProcessState} from '../../src/processes/managed-process.js';
import type {LogEvent} from '../../src/processes/output/log-cursor.js';
import type {Retention} from '../../src/processes/output/output-log.js';

const PLENTY: Retention = {bytes: 64 * 1024 * 1024, chunks: 1_000_000};

/** A managed process, what became of it so far and a way to wait for more. */
export class Managed {
	readonly process: ManagedProcess;
	/** How often the process said that it is closed. */
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

	/** Waits until `probe` holds, looking again whenever the process has news. */
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

/** The process a script told of with `echo pid $!`. */
export async function toldPid(managed: Managed): Promise<number> {
	await managed.until(() => PID.test(managed.text));
	return Number(PID.exec(managed.text)![1]);
}
