import {Deferred} from '../../shared/async/deferred.js';
import {waitAtMost} from '../../shared/async/timeout.js';
import {errorMessage} from '../../shared/errors.js';
import {describeFailure} from './answers/describe-failure.js';
import {ProgressReports, type ReportProgress} from './calls/progress-reports.js';
import {type Task, TaskTable} from './calls/task-table.js';
import {
	type AskReply,
	type CallAnswer,
	type CallSubject,
	limitWait,
	type Patience,
	type ToolCall,
} from './calls/tool-call.js';
import {answerAfterWait} from './tools/answer-after-wait.js';
import type {Tool, ToolContext} from './tools/tool.js';

/** Time beyond the grace period for a call to tell what it is about. */
const MAX_NAMING_MS = 20_000;

/** A call as it comes from a client. */
export interface ClientCall {
	readonly name: string;
	readonly arguments: unknown;
	/** Aborted when the client cancels or leaves. */
	readonly signal: AbortSignal;
	/** The client has declared the tasks extension. */
	readonly takesTasks: boolean;
	/** The client asked for progress. */
	readonly report: ReportProgress | undefined;
	readonly canAsk: boolean;
	/** Reply to the question that the same call was answered with before. */
	readonly reply: AskReply | undefined;
}

export interface ToolServiceOptions {
	readonly tools: readonly Tool[];
	readonly context: ToolContext;
	/** Wait of clients that show no progress. */
	readonly maxWaitMs: number;
	/** A call that takes longer becomes a task, where the client takes tasks. */
	readonly graceMs: number;
}

/** Runs the calls of all clients. */
export class ToolService {
	readonly tasks: TaskTable;
	readonly tools: readonly Tool[];
	readonly #options: ToolServiceOptions;

	constructor(options: ToolServiceOptions) {
		this.#options = options;
		this.tools = options.tools;
		this.tasks = new TaskTable({areSecret: options.context.processes.ids.areSecret});
	}

	/** The answer, or the task that will have it. Rejects only for a tool that does not exist, and when it is aborted. */
	async call(call: ClientCall): Promise<CallAnswer | Task> {
		const tool = this.tools.find(({definition}) => definition.name === call.name);
		if (!tool) throw new RangeError(`unknown tool ${JSON.stringify(call.name)}`);
		return call.takesTasks && tool.mayWait ? this.#callAsTask(tool, call) : this.#callDirectly(tool, call);
	}

	/** The task of a process whose client, or whose server, is another one than the one that was given the id. */
	async findTask(id: string): Promise<Task | undefined> {
		const known = this.tasks.find(id);
		if (known) return known;
		const {context} = this.#options;
		if (!context.processes.rights.mayWatch) return undefined;
		const isNamed = context.machines.all.some(({name}) => id.startsWith(`${name}.`));
		const process = isNamed ? await context.processes.require(id).catch(() => undefined) : undefined;
		if (!process) return undefined;
		const plan = {until: {}, waitMs: undefined, maxChars: context.maxChars, isOwn: true, mayAsk: false};
		const run = new CallRun(this.#options, {patience: 'task', canAsk: false});
		run.begin(call => answerAfterWait(process, plan, call));
		return this.tasks.find(id) ?? this.tasks.create(run);
	}

	async #callDirectly(tool: Tool, {arguments: given, signal, report, canAsk, reply}: ClientCall): Promise<CallAnswer> {
		using reports = report ? new ProgressReports(report) : undefined;
		const run = new CallRun(this.#options, {patience: report ? 'progress' : 'short', canAsk, reports});
		const abort = (): void => run.abandon(signal.reason);
		signal.addEventListener('abort', abort, {once: true});
		if (signal.aborted) abort();
		try {
			run.begin(call => this.#start(tool, given, reply, call));
			return await run.answer;
		} finally {
			signal.removeEventListener('abort', abort);
		}
	}

	/** Within the grace period the answer is direct; cancelling ends the waiting until then. */
	async #callAsTask(
		tool: Tool,
		{arguments: given, signal, report, canAsk, reply}: ClientCall,
	): Promise<CallAnswer | Task> {
		const run = new CallRun(this.#options, {
			patience: 'task',
			canAsk,
			resume: (process, call) => this.#resume(tool, given, process, call),
		});
		run.begin(call => this.#start(tool, given, reply, call));
		let isSettled = false;
		const settled = run.answer
			.catch(() => {})
			.finally(() => {
				isSettled = true;
			});
		await waitAtMost(settled, this.#options.graceMs, signal);
		// A task is named after its process, which a slow machine may not have started yet.
		await waitAtMost(Promise.race([settled, run.named]), MAX_NAMING_MS, signal);
		if (isSettled) return run.answer;
		if (signal.aborted) {
			run.abandon(signal.reason);
			return run.answer;
		}
		report?.(this.#options.graceMs / 1000, 'goes on as a task');
		return this.tasks.create(run);
	}

	async #start(tool: Tool, given: unknown, reply: AskReply | undefined, call: ToolCall): Promise<CallAnswer> {
		return reply ? this.#resume(tool, given, reply, call) : tool.run(given, this.#options.context, call);
	}

	async #resume(tool: Tool, given: unknown, {processId, line}: AskReply, call: ToolCall): Promise<CallAnswer> {
		const {context} = this.#options;
		const process = await context.processes.require(processId);
		if (line !== undefined) await process.write(new TextEncoder().encode(`${line}\n`));
		// A person who has declined is not asked again.
		const next = line === undefined ? {...call, canAsk: false} : call;
		return tool.resume(given, process, context, next);
	}
}

interface CallRunOptions {
	readonly patience: Patience;
	readonly canAsk: boolean;
	readonly reports?: ProgressReports | undefined;
	readonly resume?: ((reply: AskReply, call: ToolCall) => Promise<CallAnswer>) | undefined;
}

/** One run of a tool, which may outlive the request that began it. */
class CallRun {
	subject: CallSubject | undefined;
	answer!: Promise<CallAnswer>;
	readonly #named = new Deferred();
	/** Settles when the subject is known. */
	readonly named = this.#named.promise;
	readonly #service: ToolServiceOptions;
	readonly #options: CallRunOptions;
	readonly #abort = new AbortController();

	constructor(service: ToolServiceOptions, options: CallRunOptions) {
		this.#service = service;
		this.#options = options;
	}

	begin(work: (call: ToolCall) => Promise<CallAnswer>): void {
		this.answer = this.#attempt(() => work(this.#toolCall()));
		this.answer.catch(() => {});
	}

	reply(processId: string, line: string | undefined): Promise<CallAnswer> {
		return this.#attempt(() => this.#options.resume!({processId, line}, this.#toolCall()));
	}

	abandon(reason: unknown = new DOMException('nobody waits any more', 'AbortError')): void {
		this.#abort.abort(reason);
	}

	#toolCall(): ToolCall {
		const {patience, canAsk, reports} = this.#options;
		return {
			signal: this.#abort.signal,
			// The reply would be typed.
			canAsk: canAsk && this.#service.context.processes.rights.mayType,
			waitMs: askedMs => limitWait(patience, askedMs, this.#service.maxWaitMs),
			watch: subject => {
				this.subject = subject;
				this.#named.resolve();
				if (reports) reports.subject = subject;
			},
		};
	}

	/** A failure is an answer, too: the model has to know. */
	async #attempt(work: () => Promise<CallAnswer>): Promise<CallAnswer> {
		try {
			return await work();
		} catch (error) {
			if (this.#abort.signal.aborted) throw error;
			return {kind: 'text', text: describeFailure(error) || errorMessage(error), isError: true};
		}
	}
}
