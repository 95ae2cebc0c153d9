import {waitAtMost} from '../shared/async/timeout.js';
import {readOptions, type WithDurations} from '../shared/call-options.js';
import {isReachable} from './exec-environment.js';
import {isolateListener} from './exec-events.js';
import {
	clampPollWindow,
	clampStartWindow,
	clampWriteWindow,
	DEFAULT_OUTPUT_TOKENS,
	EARLY_EXIT_WAIT_MS,
} from './exec-limits.js';
import {type CallContext, EXEC_OPTIONS, type UnifiedExecOptions} from './exec-options.js';
import type {ExecSession, SessionSummary} from './exec-session.js';
import {BrokenSessionError, type InputState, sendInput} from './session-input.js';
import {SessionTable} from './session-table.js';
import {Spawner} from './spawner.js';
import {type ToolAnswer, toToolAnswer} from './tool-answer.js';
import {type ExecCommandArguments, parseExecCommand, parseWriteStdin, type ToolArguments} from './tool-arguments.js';
import {ToolFailure, UNAVAILABLE, unknownSessionError, writeFailedError} from './tool-failures.js';
import {type ToolSpec, toolSpecs} from './tool-specs.js';

/**
 * The tools `exec_command`, which starts a command and waits for a limited time, and `write_stdin`, which writes to one
 * that is still running or polls it. Failures are answers, too: no call rejects because of its arguments.
 */
export class UnifiedExec implements AsyncDisposable {
	readonly #options: UnifiedExecOptions;
	readonly #spawners: readonly Spawner[];
	readonly #table: SessionTable<ExecSession>;
	/** Starts in progress, whose sessions are not in the table yet. */
	readonly #starting = new Set<Promise<unknown>>();
	#closing: Promise<void> | undefined;

	constructor(given: WithDurations<UnifiedExecOptions>) {
		const options = readOptions<UnifiedExecOptions>(given, EXEC_OPTIONS, 'UnifiedExec');
		const {environment, environments = environment ? [environment] : []} = options;
		this.#options = options;
		const emit = isolateListener(options.onEvent);
		this.#spawners = environments.map(one => new Spawner(one, options, emit));
		this.#table = new SessionTable({...options, nextId: options.nextSessionId});
	}

	/** Descriptions of the tools for a model. */
	toolSpecs(): [ToolSpec, ToolSpec] {
		const {loginShells = true} = this.#options;
		return toolSpecs({loginShells, environmentIds: this.#spawners.map(({environment}) => environment.id)});
	}

	/** Calls a tool by name. */
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
		return catchToolFailure(() => this.#execCommand(args, context));
	}

	writeStdin(args: ToolArguments, context: CallContext = {}): Promise<ToolAnswer> {
		return catchToolFailure(() => this.#writeStdin(args, context));
	}

	/** Running sessions, sorted by id. */
	list(): SessionSummary[] {
		const running = this.#table.all().filter(({process}) => process.state.kind === 'running');
		return running.map(({summary}) => summary).sort((one, other) => one.sessionId - other.sessionId);
	}

	/** Terminates a session. A call that waits for it reports the exit. False if it is unknown or has exited. */
	async terminate(sessionId: number): Promise<boolean> {
		const session = this.#table.find(sessionId);
		if (session?.process.state.kind !== 'running') return false;
		const isAwaited = session.phase === 'starting' || session.mutex.isLocked;
		if (!isAwaited) this.#releaseId(session);
		await session.terminate();
		return true;
	}

	/** Terminates all sessions; later calls fail. Background children of finished commands keep running. */
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
		const windowMs = clampStartWindow(parsed.yieldTimeMs, await spawner.isWindows());
		const session = await this.#start(spawner, parsed, context);
		const clockStart = this.#options.strictCompat ? performance.now() : session.startedAt;
		const leftMs = clockStart + windowMs - performance.now();
		await waitAtMost(session.process.finished, leftMs, context.signal);
		return this.#report(session, clockStart, parsed.maxOutputTokens);
	}

	async #writeStdin(args: ToolArguments, {signal}: CallContext): Promise<ToolAnswer> {
		const {sessionId, chars, yieldTimeMs, maxOutputTokens} = parseWriteStdin(args);
		const session = this.#table.find(sessionId);
		if (!session) throw unknownSessionError(sessionId);
		return session.mutex.run(async () => {
			// The call that held the mutex before may have reported the exit.
			if (this.#table.find(sessionId) !== session) throw unknownSessionError(sessionId);
			this.#table.touch(session);
			const windowMs =
				chars === '' ? clampPollWindow(yieldTimeMs, this.#options.maxPollMs) : clampWriteWindow(yieldTimeMs);
			const inputState = chars === '' ? 'arrived' : await this.#sendInput(session, chars, windowMs);
			const clockStart = performance.now();
			if (inputState === 'arrived') await waitAtMost(session.process.finished, windowMs, signal);
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

	/** Reserves the id before the spawn, and releases it if that fails. */
	async #start(spawner: Spawner, args: ExecCommandArguments, context: CallContext): Promise<ExecSession> {
		const id = this.#table.reserve();
		const starting = spawner.spawn(id, args, context).then(session => this.#register(session));
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

	/** Stores a running session before the call waits for it, so that it is not lost if the call is aborted. */
	async #register(session: ExecSession): Promise<ExecSession> {
		const {process} = session;
		if (this.#options.strictCompat) await waitAtMost(process.finished, EARLY_EXIT_WAIT_MS);
		if (this.#closing) {
			await session.terminate();
			session.emitEnd();
			throw new ToolFailure(UNAVAILABLE);
		}
		const evicted = process.isFinished ? undefined : this.#table.store(session);
		if (evicted) {
			evicted.ownsId = false;
			void evicted.terminate();
		}
		return session;
	}

	async #sendInput(session: ExecSession, chars: string, windowMs: number): Promise<InputState> {
		try {
			return await sendInput(session, chars, windowMs);
		} catch (error) {
			if (!(error instanceof BrokenSessionError)) throw error;
			this.#releaseId(session);
			void session.terminate();
			throw writeFailedError();
		}
	}

	/** Answer after the wait. A finished session is removed: its id is unknown to the next call. */
	async #report(
		session: ExecSession,
		clockStart: number,
		maxOutputTokens: number | undefined,
		stdin?: string,
	): Promise<ToolAnswer> {
		const {process} = session;
		const isConnected = process.state.kind !== 'running' || (await isReachable(session.environment));
		// An exit at the end of the window gets its grace period, too: output may be in transit.
		if (process.state.kind === 'exited') await process.finished;
		const {state} = process;
		const answer = toToolAnswer({
			sessionId: session.id,
			state,
			wallMs: performance.now() - clockStart,
			unread: process.takeUnread(),
			isReachable: isConnected,
			modelPolicy: this.#options.modelPolicy ?? {tokens: DEFAULT_OUTPUT_TOKENS},
			maxOutputTokens,
		});
		if (stdin !== undefined && (stdin !== '' || state.kind === 'running')) session.emitInteraction(stdin);
		if (state.kind === 'running') session.phase = 'background';
		else this.#finish(session);
		return answer;
	}

	#finish(session: ExecSession): void {
		this.#releaseId(session);
		session.emitEnd();
		session.process.stopObserving();
		if (this.#options.strictCompat) void session.terminate();
	}

	#releaseId(session: ExecSession): void {
		if (session.ownsId) this.#table.release(session.id);
		session.ownsId = false;
	}

	async #close(): Promise<void> {
		const sessions = this.#table.all();
		await Promise.allSettled([...sessions.map(session => session.terminate()), ...this.#starting]);
		for (const session of sessions) if (session.phase === 'background') this.#releaseId(session);
	}
}

/** Turns a ToolFailure into an answer. */
async function catchToolFailure(work: () => Promise<ToolAnswer>): Promise<ToolAnswer> {
	try {
		return await work();
	} catch (error) {
		if (!(error instanceof ToolFailure)) throw error;
		return {isError: true, text: error.message};
	}
}
