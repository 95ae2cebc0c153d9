import {waitAtMost} from '../shared/async/timeout.js';
import {isReachable} from './exec-environment.js';
import {guarded} from './exec-events.js';
import {DEFAULT_OUTPUT_TOKENS, EARLY_EXIT_MS, pollWindow, startWindow, writeWindow} from './exec-limits.js';
import type {CallContext, UnifiedExecOptions} from './exec-options.js';
import type {ExecSession, SessionSummary} from './exec-session.js';
import {SessionTable} from './session-table.js';
import {Spawner} from './spawner.js';
import {type ToolAnswer, toToolAnswer} from './tool-answer.js';
import {type ExecCommandArguments, parseExecCommand, parseWriteStdin, type ToolArguments} from './tool-arguments.js';
import {ToolFailure, UNAVAILABLE, unknownSession, writeFailed} from './tool-failures.js';
import {type ToolSpec, toolSpecs} from './tool-specs.js';
import {BrokenSessionError, type Typed, typeInto} from './typing.js';

/**
 * The two tools a model works with: `exec_command` starts a command and waits a while, `write_stdin` talks to one that
 * still runs. Failures are answers too; nothing here rejects because of what a model asked for.
 */
export class UnifiedExec implements AsyncDisposable {
	readonly #options: UnifiedExecOptions;
	readonly #spawners: readonly Spawner[];
	readonly #table: SessionTable<ExecSession>;
	/** Commands on their way into the table. */
	readonly #starting = new Set<Promise<unknown>>();
	#closing: Promise<void> | undefined;

	constructor(options: UnifiedExecOptions) {
		const {environment, environments = environment ? [environment] : []} = options;
		this.#options = options;
		const emit = guarded(options.onEvent);
		this.#spawners = environments.map(one => new Spawner(one, options, emit));
		this.#table = new SessionTable({...options, nextId: options.nextSessionId});
	}

	/** The tools as they are described to a model. */
	toolSpecs(): [ToolSpec, ToolSpec] {
		const {loginShells = true} = this.#options;
		return toolSpecs({loginShells, environmentIds: this.#spawners.map(({environment}) => environment.id)});
	}

	/** Runs a tool by its name. */
	call(name: string, args: ToolArguments, context: CallContext = {}): Promise<ToolAnswer> {
		switch (name) {
			case 'exec_command':
				return this.execCommand(args, context);
			case 'write_stdin':
				return this.writeStdin(args, context);
			default:
				return Promise.resolve({isError: true, text: `unsupported call: ${name}`});
		}
	}

	execCommand(args: ToolArguments, context: CallContext = {}): Promise<ToolAnswer> {
		return answering(() => this.#execCommand(args, context));
	}

	writeStdin(args: ToolArguments, context: CallContext = {}): Promise<ToolAnswer> {
		return answering(() => this.#writeStdin(args, context));
	}

	/** Sessions that run, by number. */
	list(): SessionSummary[] {
		const running = this.#table.all().filter(({process}) => process.life.kind === 'running');
		return running.map(({summary}) => summary).sort((one, other) => one.sessionId - other.sessionId);
	}

	/** Ends a session. A call that waits for it tells its exit. False if there is no such session, or it is over. */
	async terminate(sessionId: number): Promise<boolean> {
		const session = this.#table.find(sessionId);
		if (session?.process.life.kind !== 'running') return false;
		const isAwaited = session.phase === 'starting' || session.lock.isHeld;
		if (!isAwaited) this.#forget(session);
		await session.terminate();
		return true;
	}

	/** Ends all sessions; later calls are refused. What a finished command has left in the background goes on. */
	close(): Promise<void> {
		this.#closing ??= this.#close();
		return this.#closing;
	}

	[Symbol.asyncDispose](): Promise<void> {
		return this.close();
	}

	async #execCommand(args: ToolArguments, context: CallContext): Promise<ToolAnswer> {
		const parsed = parseExecCommand(args);
		const spawner = this.#spawnerFor(parsed.environmentId);
		const windowMs = startWindow(parsed.yieldTimeMs, await spawner.isWindows());
		const session = await this.#start(spawner, parsed, context);
		const clockStart = this.#options.strictCompat ? performance.now() : session.startedAt;
		const leftMs = clockStart + windowMs - performance.now();
		await waitAtMost(session.process.finished, leftMs, context.signal);
		return this.#report(session, clockStart, parsed.maxOutputTokens);
	}

	async #writeStdin(args: ToolArguments, {signal}: CallContext): Promise<ToolAnswer> {
		const {sessionId, chars, yieldTimeMs, maxOutputTokens} = parseWriteStdin(args);
		const session = this.#table.find(sessionId);
		if (!session) throw unknownSession(sessionId);
		return session.lock.run(async () => {
			// Whoever had the turn before may have seen the end of it.
			if (this.#table.find(sessionId) !== session) throw unknownSession(sessionId);
			this.#table.touch(session);
			const windowMs = chars === '' ? pollWindow(yieldTimeMs, this.#options.maxPollMs) : writeWindow(yieldTimeMs);
			const typed = chars === '' ? 'arrived' : await this.#type(session, chars, windowMs);
			const clockStart = performance.now();
			if (typed === 'arrived') await waitAtMost(session.process.finished, windowMs, signal);
			return this.#report(session, clockStart, maxOutputTokens, chars);
		});
	}

	#spawnerFor(environmentId: string | undefined): Spawner {
		const [primary] = this.#spawners;
		if (!primary || this.#closing) throw new ToolFailure(UNAVAILABLE);
		if (environmentId === undefined) return primary;
		const chosen = this.#spawners.find(({environment}) => environment.id === environmentId);
		if (!chosen) throw new ToolFailure(`unknown turn environment id \`${environmentId}\``);
		return chosen;
	}

	/** A started command has its number from before it was spawned; one that cannot be started gives it back. */
	async #start(spawner: Spawner, args: ExecCommandArguments, context: CallContext): Promise<ExecSession> {
		const id = this.#table.reserve();
		const starting = spawner.spawn(id, args, context).then(session => this.#settle(session));
		this.#starting.add(starting);
		try {
			return await starting;
		} catch (error) {
			this.#table.release(id);
			throw error;
		} finally {
			this.#starting.delete(starting);
		}
	}

	/** Puts what lives into the table before anybody waits for it, so that it is there whatever becomes of the call. */
	async #settle(session: ExecSession): Promise<ExecSession> {
		const {process} = session;
		if (this.#options.strictCompat) await waitAtMost(process.finished, EARLY_EXIT_MS);
		if (this.#closing) {
			await session.terminate();
			session.end();
			throw new ToolFailure(UNAVAILABLE);
		}
		const evicted = process.isFinished ? undefined : this.#table.store(session);
		if (evicted) {
			evicted.hasNumber = false;
			void evicted.terminate();
		}
		return session;
	}

	async #type(session: ExecSession, chars: string, windowMs: number): Promise<Typed> {
		try {
			return await typeInto(session, chars, windowMs);
		} catch (error) {
			if (!(error instanceof BrokenSessionError)) throw error;
			this.#forget(session);
			void session.terminate();
			throw writeFailed();
		}
	}

	/** What there is to say after a wait. What is over is forgotten: the next one who asks for it is too late. */
	async #report(
		session: ExecSession,
		clockStart: number,
		maxOutputTokens: number | undefined,
		stdin?: string,
	): Promise<ToolAnswer> {
		const {process} = session;
		const isThere = process.life.kind !== 'running' || (await isReachable(session.environment));
		// An exit at the very end of the window still gets its grace: its last words may be on their way.
		if (process.life.kind === 'exited') await process.finished;
		const {life} = process;
		const answered = toToolAnswer({
			sessionId: session.id,
			life,
			wallMs: performance.now() - clockStart,
			unread: process.take(),
			isReachable: isThere,
			modelPolicy: this.#options.modelPolicy ?? {tokens: DEFAULT_OUTPUT_TOKENS},
			maxOutputTokens,
		});
		if (stdin !== undefined && (stdin !== '' || life.kind === 'running')) session.interacted(stdin);
		if (life.kind === 'running') session.phase = 'background';
		else this.#finish(session);
		return answered;
	}

	#finish(session: ExecSession): void {
		this.#forget(session);
		session.end();
		session.process.release();
		if (this.#options.strictCompat) void session.terminate();
	}

	#forget(session: ExecSession): void {
		if (session.hasNumber) this.#table.release(session.id);
		session.hasNumber = false;
	}

	async #close(): Promise<void> {
		const sessions = this.#table.all();
		await Promise.allSettled([...sessions.map(session => session.terminate()), ...this.#starting]);
		for (const session of sessions) if (session.phase === 'background') this.#forget(session);
	}
}

async function answering(work: () => Promise<ToolAnswer>): Promise<ToolAnswer> {
	try {
		return await work();
	} catch (error) {
		if (!(error instanceof ToolFailure)) throw error;
		return {isError: true, text: error.message};
	}
}
