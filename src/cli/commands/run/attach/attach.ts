import {isatty} from 'node:tty';
import {type ExitStatus, type ProcessHandle, ProcessLostError} from '../../../../client/process/process-handle.js';
import {endInterrupted} from '../../../../client/run/run-limits.js';
import {MAX_INPUT_PIECE_BYTES, writeInput} from '../../../../client/run/write-input.js';
import type {Environment} from '../../../../environments/environment.js';
import {MAX_TIMER_MS} from '../../../../shared/units.js';
import {toLine} from '../../../common/messages.js';
import {EXIT} from '../../../exit-codes.js';
import {CoalescingReader} from './coalescing-reader.js';
import {explainLoss, LOST_HINT} from './explain-loss.js';
import type {FailedStart} from './failed-start.js';
import {Keyboard} from './keyboard.js';
import {LinkWatch} from './link-watch.js';
import {describeBytes, MissingOutput} from './missing-output.js';
import {type BrokenStream, OutputWriter, type RunOutcome, STDOUT} from './output-writer.js';
import {OwnTerminal} from './own-terminal.js';
import {GRACE_MS, ProcessControl} from './process-control.js';
import {type Left, SignalRelay} from './signal-relay.js';
import {
	type AttachedCommand,
	type EnvironmentFacts,
	isKeptWhileAway,
	KEPT_FOR,
	readEnvironmentFacts,
	startAttached,
} from './start-attached.js';
import {detectInputKind, type InputKind, openInput} from './stdin.js';

/** Time limit for the exit of a killed process and the last of its output. */
const END_MS = 5000;
/** Time limit for the orderly end of a connection. */
const GOODBYE_MS = 1000;
/** Writes in flight: the next ones are sent before the first are answered. */
const WRITES_UNDER_WAY = 16;

/** Servers of other makes cannot close the standard input of a program. */
const ENDLESS_INPUT = 'this server cannot end the input of a command, which may wait for more; Ctrl-C ends it';

const LEFT = 'left before the end of the process was known';

interface Late {
	readonly kind: 'late';
}

/** Reason for the end: the exit of the process, or something that came before it. */
type Ending =
	| {readonly kind: 'exited'; readonly exit: ExitStatus}
	| {readonly kind: 'incomplete'; readonly exit: ExitStatus; readonly missing: MissingOutput}
	| {readonly kind: 'lost'; readonly error: Error}
	| Late
	| ({readonly kind: 'broken'} & BrokenStream)
	| Left;

/** Runs a command with our own streams as its streams. Settles with its exit code, or one that says what went wrong. */
export async function attach(environment: Environment, command: AttachedCommand): Promise<number> {
	const signals = new SignalRelay();
	const inputKind = command.noInput ? 'nothing' : detectInputKind();
	const facts = await Promise.race([readEnvironmentFacts(environment), signals.left]);
	if ('kind' in facts) return facts.exitCode!;
	signals.expectProcess();
	const terminal = command.tty ? new OwnTerminal() : undefined;
	try {
		// From before the start on, so that a server that enforces the limit is not faster.
		const limit = new TimeLimit(command.timeoutMs);
		const starting = startAttached(environment, command, {facts, terminal, inputKind, signal: limit.signal});
		const started = await Promise.race([starting, limit.reached]);
		const writer = command.writer ?? new OutputWriter();
		if ('kind' in started) return await reportLateStart(limit, starting, writer);
		if ('exitCode' in started) return await reportFailedStart(started, writer, terminal);
		const isKept = isKeptWhileAway(environment, command, facts);
		const isPatient = command.isPatient === true && environment.kind === 'remote';
		const context = {facts, terminal, writer, signals, limit, isPatient, isKept};
		const attachment = new Attachment(environment, started.process, context);
		return await attachment.run(inputKind);
	} finally {
		terminal?.restore();
	}
}

/** Reports a start that failed because of the command itself. */
async function reportFailedStart(
	{message, hint, exitCode}: FailedStart,
	writer: OutputWriter,
	terminal?: OwnTerminal,
): Promise<number> {
	terminal?.restore();
	writer.say(`error: ${toLine(message)}\nhint: ${toLine(hint)}\n`);
	await writer.flush();
	await writer.report({exitCode: undefined, reason: 'spawn', error: message});
	return exitCode;
}

/** Reports a time limit that was over before the command was started; one that comes to be after all is ended. */
async function reportLateStart(limit: TimeLimit, starting: Promise<unknown>, writer: OutputWriter): Promise<number> {
	starting.catch(() => {});
	limit.cancelStart();
	await writer.report({exitCode: undefined, reason: 'timeout'});
	return EXIT.timedOut;
}

/** The time limit of a command. */
class TimeLimit {
	/** Stays pending without a limit. */
	readonly reached: Promise<Late>;
	readonly #deadline: number;
	readonly #start = new AbortController();

	constructor(ms = Infinity) {
		this.#deadline = performance.now() + ms;
		this.reached = ms === Infinity ? never() : pause(Math.min(ms, MAX_TIMER_MS)).then(() => ({kind: 'late'}));
	}

	/** Cancels a start. */
	get signal(): AbortSignal {
		return this.#start.signal;
	}

	/** Also before the timer has told. */
	get isOver(): boolean {
		return performance.now() >= this.#deadline;
	}

	cancelStart(): void {
		this.#start.abort();
	}
}

interface AttachContext {
	readonly facts: EnvironmentFacts;
	readonly terminal: OwnTerminal | undefined;
	readonly writer: OutputWriter;
	readonly signals: SignalRelay;
	/** A user waits at a terminal until the link is back. */
	readonly isPatient: boolean;
	/** The server keeps the process for longer than its session while its client is away. */
	readonly isKept: boolean;
	readonly limit: TimeLimit;
}

class Attachment {
	readonly #environment: Environment;
	readonly #process: ProcessHandle;
	readonly #context: AttachContext;
	readonly #output: ReturnType<ProcessHandle['output']>;
	readonly #control: ProcessControl;
	readonly #link: LinkWatch;
	#exit: ExitStatus | undefined;

	constructor(environment: Environment, process: ProcessHandle, context: AttachContext) {
		this.#environment = environment;
		this.#process = process;
		this.#context = context;
		this.#output = process.output();
		const keepExit = (exit: ExitStatus): void => {
			this.#exit = exit;
		};
		process.exited.then(keepExit, () => {});
		const wayOut = context.terminal?.isRaw ? 'Enter ~. leaves' : 'two Ctrl-C leave';
		const {terminal, isPatient, facts} = context;
		this.#link = new LinkWatch(environment, {
			say: text => this.#say(text),
			wayOut,
			...(isPatient && terminal?.isRaw && {redraw: text => terminal.redrawStatus(text)}),
			// A new size may have been on its way when the link broke.
			back: () => {
				for (const size of terminal?.redrawingSizes ?? []) this.#control.resize(size);
			},
		});
		const isLinkUp = (): boolean => this.#link.isUp;
		this.#control = new ProcessControl(process, facts.can, {isLinkUp, isWaitedFor: isPatient});
		context.signals.passTo(this.#control);
	}

	async run(inputKind: InputKind): Promise<number> {
		const {terminal, writer, signals, limit} = this.#context;
		terminal?.onResize(size => this.#control.resize(size));
		const over = this.#follow();
		const first = await Promise.race([
			over,
			writer.broken.then((broken): Ending => ({kind: 'broken', ...broken})),
			signals.left,
			this.#passInput(inputKind),
			limit.reached,
		]);
		const exitCode = await this.#settle(first, over);
		await this.#disconnect();
		terminal?.restore();
		return signals.endLike(exitCode);
	}

	/** Copies the output to our own streams, to its end. */
	async #follow(): Promise<Ending> {
		const {writer, terminal} = this.#context;
		const missing = new MissingOutput();
		try {
			for await (const piece of this.#output) {
				if (piece.kind === 'gap') {
					missing.add(piece.missedBytes);
					writer.skip(piece.missedBytes);
					this.#say(`${describeBytes(piece.missedBytes)} of output are missing here`);
					continue;
				}
				terminal?.observeOutput(piece.bytes);
				const room = writer.write(piece.stream, piece.bytes);
				if (room) await room;
			}
			const exit = await this.#process.exited;
			await writer.flush();
			// On a terminal the line at the gap is seen; a program that reads our output has only the exit code.
			if (missing.isSome && !isatty(STDOUT)) return {kind: 'incomplete', exit, missing};
			return {kind: 'exited', exit};
		} catch (error) {
			if (error instanceof ProcessLostError) return {kind: 'lost', error};
			throw error;
		}
	}

	/** Passes our standard input on. Settles when the escape `~.` was typed, and never otherwise. */
	async #passInput(kind: InputKind): Promise<Left> {
		if (!this.#context.facts.passesInput(kind)) return never();
		if (kind === 'nothing') {
			void writeInput(this.#process, []).catch(() => {});
			return never();
		}
		const source = openInput(kind);
		const keyboard = this.#context.terminal?.isRaw ? new Keyboard(source, () => this.#link.isUp) : undefined;
		const canEnd = this.#context.facts.can('processCloseStdin');
		const maxPendingWrites = canEnd ? WRITES_UNDER_WAY : 1;
		source.on('error', error => this.#say(`standard input: ${error.message}`));
		void writeInput(this.#process, keyboard?.input ?? new CoalescingReader(source, MAX_INPUT_PIECE_BYTES), {
			maxPendingWrites,
		}).catch(async () => {
			if (!canEnd && !this.#process.isOver) this.#say(ENDLESS_INPUT);
			// A read error is the end of the input: what was read before it is all there is.
			else if (source.errored) await this.#process.closeStdin().catch(() => {});
		});
		if (!keyboard) return never();
		await keyboard.left;
		return {kind: 'left', exitCode: undefined};
	}

	/** Reports the end; returns the exit code. */
	async #settle(ending: Ending, over: Promise<Ending>): Promise<number> {
		const {writer, limit} = this.#context;
		switch (ending.kind) {
			case 'exited':
				if (limit.isOver || ending.exit.reason === 'timeout') return this.#endLate(over);
				await writer.report({exitCode: ending.exit.exitCode, reason: toReason(ending.exit)});
				return ending.exit.exitCode;
			case 'incomplete':
				return this.#fail(
					{exitCode: ending.exit.exitCode, reason: toReason(ending.exit)},
					`${ending.missing.describe()} of output are missing; the command itself exited with code ${ending.exit.exitCode}`,
					'The server did not keep them while the link was lost.',
				);
			case 'lost':
				return this.#failLost(ending.error);
			case 'left':
				await this.#stopReading();
				return this.#leave();
			case 'late':
				return this.#endLate(over);
			case 'broken':
				await this.#endProcess();
				if (ending.error.code === 'EPIPE') return EXIT.brokenPipe;
				return this.#fail({reason: 'aborted'}, `${ending.stream}: ${ending.error.message}`, 'The process was ended.');
		}
	}

	/** With a link the process is told to end; without one nobody can tell it, and it ends by itself later. */
	async #leave(): Promise<number> {
		const outcome = {reason: 'aborted'} as const;
		if (this.#link.isUp) {
			this.#control.kill();
			return this.#fail(outcome, LEFT, 'It was told to end.');
		}
		return this.#fail(outcome, LEFT, await this.#describeRest());
	}

	/** Describes the lifetime of a process that cannot be reached, and the way back to it. */
	async #describeRest(): Promise<string> {
		const {isKept, facts} = this.#context;
		if (!isKept) return 'Without a link it ends with its session.';
		const rest = `It runs on for ${KEPT_FOR} without a client`;
		if (!facts.can('processAttach')) return `${rest}; this server has no way back to it.`;
		const {describeWayBack} = await import('../../../common/processes/way-back.js');
		return `${rest}. Come back with: ${await describeWayBack(this.#environment, ['attach', this.#process.processId])}`;
	}

	/** Ends a process that took too long, and what it has left behind. */
	async #endLate(over: Promise<Ending>): Promise<number> {
		if (!this.#exit && !this.#context.facts.can('processTerminateMode')) {
			this.#control.signal('SIGINT');
			await Promise.race([over, pause(GRACE_MS)]);
		}
		await endInterrupted(this.#process, over, {reason: 'timeout'});
		if (!this.#exit) this.#say('the command was told to end; its end is not known');
		await this.#context.writer.report({exitCode: this.#exit?.exitCode, reason: 'timeout'});
		return EXIT.timedOut;
	}

	/** Ends a process whose output has no reader, as a broken pipe would; settles when it is gone. */
	async #endProcess(): Promise<void> {
		await this.#stopReading();
		this.#control.signal('SIGPIPE');
		this.#control.endGently();
		await Promise.race([this.#process.closed.catch(() => {}), pause(GRACE_MS + END_MS)]);
	}

	/** Drops the output from here on, so that the process does not wait for its reader. */
	async #stopReading(): Promise<void> {
		await this.#output.return?.();
	}

	/** Ends the connection. Background processes on this machine are left alone, as by any other command. */
	async #disconnect(): Promise<void> {
		this.#link.stop();
		if (this.#environment.kind === 'local') return;
		const closed = this.#forget().then(() => this.#environment.close());
		await Promise.race([closed, pause(GOODBYE_MS)]);
	}

	/** A process that is kept while its client is away is kept after its end, too, with its session; nobody asks for this one any more. */
	async #forget(): Promise<void> {
		if (!this.#context.isKept || !this.#link.isUp) return;
		try {
			await this.#process.closed;
			await this.#process.remove();
		} catch {
			// It is lost, or the server does not forget processes before their time.
		}
	}

	async #failLost(error: Error): Promise<number> {
		const {message, hint} = explainLoss(error);
		const isGone = hint !== LOST_HINT;
		return this.#fail({reason: 'disconnected'}, message, isGone ? hint : await this.#describeRest());
	}

	async #fail(outcome: RunOutcome, message: string, hint: string): Promise<number> {
		const {terminal, writer} = this.#context;
		terminal?.restore();
		writer.say(`${terminal?.isRaw ? '\r\n' : ''}error: ${toLine(message)}\nhint: ${toLine(hint)}\n`);
		await Promise.race([writer.flush(), pause(GOODBYE_MS)]);
		await writer.report({...outcome, error: message});
		return EXIT.notRun;
	}

	/** Writes a line of our own between the output of the process. */
	#say(text: string): void {
		const {writer, terminal} = this.#context;
		const line = toLine(text);
		writer.say(terminal?.isRaw ? `\r\n\u001B[2m[longarm: ${line}]\u001B[0m\r\n` : `longarm: ${line}\n`);
	}
}

function toReason({reason}: ExitStatus): RunOutcome['reason'] {
	if (reason === 'timeout') return 'timeout';
	return reason === 'signal' || reason === 'terminated' ? 'signal' : 'exit';
}

/** A timer that keeps the program alive: without a connection nothing else does, and it would exit with 0. */
function pause(ms: number): Promise<void> {
	return new Promise(resolve => setTimeout(resolve, ms));
}

function never(): Promise<never> {
	return new Promise(() => {});
}
