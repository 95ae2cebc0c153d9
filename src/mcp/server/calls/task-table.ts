import {isSecretId, toSecretId} from '../processes/process-ids.js';
import type {CallAnswer, CallSubject} from './tool-call.js';

/** Tasks that are known at once; the oldest that are over go first. */
export const MAX_TASKS = 1000;
/** Time after its creation in which a client can ask for a task. */
export const TASK_TTL_MS = 24 * 60 * 60 * 1000;
/** Suggested pause between two questions, for tasks that are younger than a minute and for older ones. */
const POLL_INTERVALS_MS = {young: 2000, old: 5000};
const YOUNG_MS = 60_000;

/** State of a task. */
export type TaskState =
	| {readonly kind: 'working'}
	/** A process waits for a line. */
	| {readonly kind: 'asking'; readonly key: string; readonly message: string; readonly processId: string}
	| {readonly kind: 'done'; readonly answer: CallAnswer}
	| {readonly kind: 'failed'; readonly message: string}
	| {readonly kind: 'cancelled'};

/** A call that goes on after its request was answered. */
export interface TaskRun {
	readonly subject: CallSubject | undefined;
	readonly answer: Promise<CallAnswer>;
	/** Goes on with the line that a person has typed; undefined if they have declined. */
	reply(processId: string, line: string | undefined): Promise<CallAnswer>;
	/** Ends the waiting. */
	abandon(): void;
}

/** One task. */
export class Task {
	readonly id: string;
	readonly createdAt = new Date();
	lastUpdatedAt = this.createdAt;
	#state: TaskState = {kind: 'working'};
	#asked = 0;
	#isCancelled = false;
	readonly #run: TaskRun;
	readonly #startedAt = performance.now();

	constructor(id: string, run: TaskRun) {
		this.id = id;
		this.#run = run;
		void this.#follow(run.answer);
	}

	get state(): TaskState {
		return this.#state;
	}

	get isOver(): boolean {
		return this.#state.kind !== 'working' && this.#state.kind !== 'asking';
	}

	get ageMs(): number {
		return performance.now() - this.#startedAt;
	}

	get pollIntervalMs(): number {
		return this.ageMs < YOUNG_MS ? POLL_INTERVALS_MS.young : POLL_INTERVALS_MS.old;
	}

	/** How far it is; undefined if that cannot be told now. */
	async describe(): Promise<string | undefined> {
		return this.#run.subject?.describe().catch(() => undefined);
	}

	/** Takes the reply to a question; replies to others are ignored. */
	reply(key: string, line: string | undefined): void {
		const state = this.#state;
		if (state.kind !== 'asking' || state.key !== key) return;
		this.#become({kind: 'working'});
		void this.#follow(this.#run.reply(state.processId, line));
	}

	/** Asks a process that belongs to the task to end, or ends the waiting for one that does not. */
	cancel(): void {
		if (this.isOver) return;
		this.#isCancelled = true;
		const {subject} = this.#run;
		if (subject?.isOwn && subject.cancel) return void subject.cancel().catch(() => {});
		this.#become({kind: 'cancelled'});
		this.#run.abandon();
	}

	async #follow(answer: Promise<CallAnswer>): Promise<void> {
		try {
			const result = await answer;
			if (this.isOver) return;
			if (this.#isCancelled) return this.#become({kind: 'cancelled'});
			if (result.kind !== 'ask') return this.#become({kind: 'done', answer: result});
			const {message, processId} = result;
			this.#become({kind: 'asking', key: `line${++this.#asked}`, message, processId});
		} catch (error) {
			if (!this.isOver) this.#become({kind: 'failed', message: error instanceof Error ? error.message : String(error)});
		}
	}

	#become(state: TaskState): void {
		this.#state = state;
		this.lastUpdatedAt = new Date();
	}
}

/** Tasks by id, for all connections. */
export class TaskTable {
	readonly #tasks = new Map<string, Task>();
	readonly #areSecret: boolean;
	#made = 0;

	/** With `areSecret`, whoever knows an id may use the task, and nobody can guess one. */
	constructor({areSecret}: {readonly areSecret: boolean}) {
		this.#areSecret = areSecret;
	}

	/** `devbox.p7` for the process of an `exec`; other calls about it are numbered. */
	create(run: TaskRun): Task {
		const {subject} = run;
		const number = ++this.#made;
		const own = subject?.isOwn ? subject.name : undefined;
		const isUsable = own !== undefined && !this.#tasks.has(own) && (!this.#areSecret || isSecretId(own));
		const numbered = `${subject?.name ?? 'call'}.w${number}`;
		const id = isUsable ? own : this.#areSecret ? toSecretId(numbered) : numbered;
		const task = new Task(id, run);
		this.#tasks.set(id, task);
		this.#removeOld();
		return task;
	}

	find(id: string): Task | undefined {
		const task = this.#tasks.get(id);
		if (!task || task.ageMs <= TASK_TTL_MS || !task.isOver) return task;
		this.#tasks.delete(id);
		return undefined;
	}

	#removeOld(): void {
		if (this.#tasks.size <= MAX_TASKS) return;
		const over = [...this.#tasks.values()].find(task => task.isOver);
		const removed = over ?? this.#tasks.values().next().value!;
		this.#tasks.delete(removed.id);
	}
}
