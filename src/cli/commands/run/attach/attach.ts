import {setTimeout} from 'node:timers/promises';
import {type ProcessHandle, ProcessLostError} from '../../../../client/process/process-handle.js';
import {MAX_INPUT_PIECE_BYTES, writeInput} from '../../../../client/run/write-input.js';
import type {Environment} from '../../../../environments/environment.js';
import {MAX_TIMER_MS} from '../../../../shared/units.js';
import {EXIT} from '../../../exit-codes.js';
import {CoalescingReader} from './coalescing-reader.js';
import type {FailedStart} from './failed-start.js';
import {type InputKind, kindOfInput, openInput} from './intake.js';
import {Keyboard} from './keyboard.js';
import {LinkWatch} from './link-watch.js';
import {OwnTerminal} from './own-terminal.js';
import {GRACE_MS, ProcessControl} from './process-control.js';
import {type Left, SignalRelay} from './signal-relay.js';
import {type AttachedCommand, type EnvironmentFacts, readEnvironmentFacts, startAttached} from './start-attached.js';
import {type Broken, OutputWriter} from './stdout-writer.js';

/** How long the end of a process that was killed is waited for, and for its output to be taken. */
const END_MS = 5000;
/** How long a goodbye may take. */
const GOODBYE_MS = 1000;
/** Writes that wait for their answer at a time: the next ones are made and sent meanwhile. */
const WRITES_UNDER_WAY = 16;

/** Servers of other makes have no way to tell a program that there is no more. */
const ENDLESS_INPUT = 'this server cannot end the input of a command, which may wait for more; Ctrl-C ends it';

/** Why we are done: the process told its end, or something came before that. */
type Ending =
	| {readonly kind: 'exited'; readonly exitCode: number}
	| {readonly kind: 'lost'; readonly error: Error}
	| {readonly kind: 'late'}
	| ({readonly kind: 'broken'} & Broken)
	| Left;

/** Runs a command with our own streams as its streams. Settles with its exit code, or one that says what went wrong. */
export async function attach(environment: Environment, command: AttachedCommand): Promise<number> {
	const signals = new SignalRelay();
	const inputKind = kindOfInput();
	const place = await Promise.race([readEnvironmentFacts(environment), signals.left]);
	if ('kind' in place) return place.exitCode!;
	signals.starting();
	const terminal = command.tty ? new OwnTerminal() : undefined;
	try {
		const started = await startAttached(environment, command, {place, terminal, inputKind});
		const outlet = new OutputWriter();
		if ('exitCode' in started) return await complain(started, outlet, terminal);
		const attachment = new Attachment(environment, started.process, {place, terminal, outlet, signals});
		return await attachment.run(inputKind, command.timeoutMs);
	} finally {
		terminal?.restore();
	}
}

/** The command could not be started, and that is its own fault. */
async function complain(
	{message, hint, exitCode}: FailedStart,
	outlet: OutputWriter,
	terminal?: OwnTerminal,
): Promise<number> {
	terminal?.restore();
	outlet.say(`error: ${message}\nhint: ${hint}\n`);
	await outlet.flushed();
	return exitCode;
}

interface AttachContext {
	readonly place: EnvironmentFacts;
	readonly terminal: OwnTerminal | undefined;
	readonly outlet: OutputWriter;
	readonly signals: SignalRelay;
}

class Attachment {
	readonly #environment: Environment;
	readonly #process: ProcessHandle;
	readonly #around: AttachContext;
	readonly #output: ReturnType<ProcessHandle['output']>;
	readonly #control: ProcessControl;
	readonly #link: LinkWatch;

	constructor(environment: Environment, process: ProcessHandle, around: AttachContext) {
		this.#environment = environment;
		this.#process = process;
		this.#around = around;
		this.#output = process.output();
		const wayOut = around.terminal?.isRaw ? 'Enter ~. leaves' : 'two Ctrl-C leave';
		this.#link = new LinkWatch(environment, {
			say: text => this.#say(text),
			wayOut,
			// A new size may have been on its way when the link broke.
			back: () => around.terminal && this.#control.resize(around.terminal.size),
		});
		this.#control = new ProcessControl(process, around.place.can, () => this.#link.isUp);
		around.signals.passTo(this.#control);
	}

	async run(inputKind: InputKind, timeoutMs: number | undefined): Promise<number> {
		const {terminal, outlet, signals} = this.#around;
		terminal?.onResize(size => this.#control.resize(size));
		const over = this.#follow();
		const first = await Promise.race([
			over,
			outlet.broken.then((broken): Ending => ({kind: 'broken', ...broken})),
			signals.left,
			this.#passInput(inputKind),
			...(timeoutMs === undefined ? [] : [late(timeoutMs)]),
		]);
		const exitCode = await this.#settle(first, over);
		await this.#goodbye();
		terminal?.restore();
		return signals.endLike(exitCode);
	}

	/** Shows the output to its end. */
	async #follow(): Promise<Ending> {
		const {outlet, terminal} = this.#around;
		try {
			for await (const piece of this.#output) {
				if (piece.kind === 'gap') {
					this.#say(`${piece.missedBytes ?? 'an unknown number of'} bytes of output are missing here`);
					continue;
				}
				terminal?.see(piece.bytes);
				const room = outlet.write(piece.stream, piece.bytes);
				if (room) await room;
			}
			const {exitCode} = await this.#process.exited;
			await outlet.flushed();
			return {kind: 'exited', exitCode};
		} catch (error) {
			if (error instanceof ProcessLostError) return {kind: 'lost', error};
			throw error;
		}
	}

	/** Settles when somebody typed the way out, never for any other reason: what became of the process is told by others. */
	async #passInput(kind: InputKind): Promise<Left> {
		if (!this.#around.place.passesInput(kind)) return never();
		if (kind === 'nothing') {
			void writeInput(this.#process, []).catch(() => {});
			return never();
		}
		const source = openInput(kind);
		const keyboard = this.#around.terminal?.isRaw ? new Keyboard(source) : undefined;
		const canEnd = this.#around.place.can('processCloseStdin');
		const maxPendingWrites = canEnd ? WRITES_UNDER_WAY : 1;
		source.on('error', error => this.#say(`standard input: ${error.message}`));
		void writeInput(this.#process, keyboard?.input ?? new CoalescingReader(source, MAX_INPUT_PIECE_BYTES), {
			maxPendingWrites,
		}).catch(async () => {
			if (!canEnd && !this.#process.isOver) this.#say(ENDLESS_INPUT);
			// Of an input that cannot be read there is no more than what was read.
			else if (source.errored) await this.#process.closeStdin().catch(() => {});
		});
		if (!keyboard) return never();
		await keyboard.left;
		return {kind: 'left', exitCode: undefined};
	}

	async #settle(ending: Ending, over: Promise<Ending>): Promise<number> {
		switch (ending.kind) {
			case 'exited':
				return ending.exitCode;
			case 'lost':
				return this.#fail(ending.error.message, 'The process may still run where it is, until its session is over.');
			case 'left':
				await this.#stopReading();
				this.#control.kill();
				return this.#fail('left before the end of the process was known', 'Without a link it ends with its session.');
			case 'late':
				this.#control.endGently();
				if (!(await Promise.race([over, pause(GRACE_MS + END_MS)])))
					this.#say('the command was told to end; its end is not known');
				return EXIT.timedOut;
			case 'broken':
				await this.#endUnheard();
				if (ending.error.code === 'EPIPE') return EXIT.brokenPipe;
				return this.#fail(`${ending.stream}: ${ending.error.message}`, 'The process was ended.');
		}
	}

	/** Nobody hears the process any more: it is ended as a broken pipe would, and is gone when this settles. */
	async #endUnheard(): Promise<void> {
		await this.#stopReading();
		this.#control.signal('SIGPIPE');
		this.#control.endGently();
		await Promise.race([this.#process.closed.catch(() => {}), pause(GRACE_MS + END_MS)]);
	}

	/** What comes from here on is dropped, and nothing waits for us. */
	async #stopReading(): Promise<void> {
		await this.#output.return?.();
	}

	/** What runs on in the background is left alone, as it would be by any other command. */
	async #goodbye(): Promise<void> {
		this.#link.stop();
		if (this.#environment.kind === 'local') return;
		await Promise.race([this.#environment.close(), pause(GOODBYE_MS)]);
	}

	async #fail(message: string, hint: string): Promise<number> {
		const {terminal, outlet} = this.#around;
		terminal?.restore();
		outlet.say(`${terminal?.isRaw ? '\r\n' : ''}error: ${message}\nhint: ${hint}\n`);
		await Promise.race([outlet.flushed(), pause(GOODBYE_MS)]);
		return EXIT.notRun;
	}

	/** One line of our own in between. */
	#say(text: string): void {
		const {outlet, terminal} = this.#around;
		outlet.say(terminal?.isRaw ? `\r\n\u001B[2m[longarm: ${text}]\u001B[0m\r\n` : `longarm: ${text}\n`);
	}
}

async function late(ms: number): Promise<Ending> {
	await pause(Math.min(ms, MAX_TIMER_MS));
	return {kind: 'late'};
}

/** Keeps the program alive: without a link nothing else may, and it would end as if all were well. */
function pause(ms: number): Promise<void> {
	return setTimeout(ms);
}

function never(): Promise<never> {
	return new Promise(() => {});
}
