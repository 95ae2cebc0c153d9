import {isatty} from 'node:tty';
import {type ProcessHandle, ProcessLostError} from '../../../client/process/process-handle.js';
import type {ListedProcess, ProcessChange} from '../../../client/process/shared-process.js';
import type {Environment} from '../../../environments/environment.js';
import {Deferred} from '../../../shared/async/deferred.js';
import {waitAtMost} from '../../../shared/async/timeout.js';
import {errorMessage} from '../../../shared/errors.js';
import {toLine} from '../../common/messages.js';
import {EXIT} from '../../exit-codes.js';
import {explainLoss} from '../run/attach/explain-loss.js';
import {LinkWatch} from '../run/attach/link-watch.js';
import {describeBytes, MissingOutput} from '../run/attach/missing-output.js';
import {type BrokenStream, OutputWriter, STDOUT} from '../run/attach/output-writer.js';
import type {OwnTerminal} from '../run/attach/own-terminal.js';
import {detectInputKind, openInput} from '../run/attach/stdin.js';
import {AttachKeyboard, type KeyboardCommand} from './attach-keyboard.js';
import type {FirstOutput} from './first-output.js';
import {describeDriverChange, describeSeat, describeSmallWindow} from './seat-lines.js';
import {isNotDriver} from './take-seat.js';

/** Time limit for telling the server that we leave. */
const LEAVE_MS = 1000;
const SIGNALS = {SIGINT: EXIT.interrupted, SIGTERM: 143, SIGHUP: 129} as const;
const KEYS_HINT = 'you are watching: ~t takes over, ~d leaves';

interface AttachmentContext {
	readonly listed: ListedProcess;
	/** Undefined where keys do not go to a terminal of the process one by one. */
	readonly terminal: OwnTerminal | undefined;
}

/** Our own streams at a process of which we are one client of several. Leaving never ends the process. */
export class SharedAttachment {
	readonly #process: ProcessHandle;
	readonly #terminal: OwnTerminal | undefined;
	readonly #writer = new OutputWriter();
	readonly #missing = new MissingOutput();
	readonly #left = new Deferred<number>();
	readonly #link: LinkWatch;
	/** Known before we came. */
	readonly #exitCode: number | null;
	#size: {readonly rows: number; readonly cols: number} | undefined;
	#hasHinted = false;
	/** We have asked for another role, and say ourselves what came of it. */
	#isAsking = false;
	#isWindowTold = false;
	#isLeaving = false;

	constructor(environment: Environment, process: ProcessHandle, {listed, terminal}: AttachmentContext) {
		this.#process = process;
		this.#terminal = terminal;
		this.#exitCode = listed.exitCode;
		this.#size = listed.rows && listed.cols ? {rows: listed.rows, cols: listed.cols} : undefined;
		this.#link = new LinkWatch(environment, {
			say: text => this.#say(text),
			wayOut: terminal ? 'Enter ~. leaves' : 'Ctrl-C leaves',
			back: () => this.#sendSize(),
		});
	}

	async run(first: FirstOutput['pieces'], {isSeatTaken}: {readonly isSeatTaken: boolean}): Promise<number> {
		const stopListening = this.#process.onChange(change => this.#handleChange(change));
		for (const [signal, code] of Object.entries(SIGNALS)) process.on(signal, () => this.#left.resolve(code));
		this.#terminal?.onResize(() => this.#sendSize());
		for (const {stream, bytes} of first) void this.#write(stream, bytes);
		this.#say(describeSeat(this.#process, isSeatTaken));
		this.#compareWindow();
		void this.#passKeys();
		const code = await Promise.race([
			this.#follow(),
			this.#left.promise,
			this.#writer.broken.then(broken => this.#reportBroken(broken)),
		]);
		stopListening();
		this.#link.stop();
		if (!this.#process.isOver) await this.#leave();
		await this.#writer.flush();
		return code;
	}

	async #follow(): Promise<number> {
		try {
			for await (const piece of this.#process.output()) {
				if (piece.kind === 'gap') {
					this.#missing.add(piece.missedBytes);
					this.#say(`${describeBytes(piece.missedBytes)} of output are missing here`);
					continue;
				}
				const room = this.#write(piece.stream, piece.bytes);
				if (room) await room;
			}
			const exitCode = this.#exitCode ?? (await this.#process.exited).exitCode;
			// On a terminal the line at the gap is seen; a program that reads our output has only the exit code.
			if (!this.#missing.isSome || isatty(STDOUT)) return exitCode;
			return this.#fail(
				`${this.#missing.describe()} of output are missing; the process itself exited with code ${exitCode}`,
				'The server did not keep them.',
			);
		} catch (error) {
			// The handle is given up when we leave.
			if (this.#isLeaving) return EXIT.ok;
			if (!(error instanceof ProcessLostError)) throw error;
			const {message, hint} = explainLoss(error);
			return this.#fail(message, hint);
		}
	}

	/** Keys go to the process while we drive it; its input stays open when ours ends. */
	async #passKeys(): Promise<void> {
		const kind = detectInputKind();
		if (kind === 'nothing') return;
		const source = openInput(kind);
		source.on('error', error => this.#say(`standard input: ${error.message}`));
		const keyboard = new AttachKeyboard(source, {
			isDriving: () => this.#process.role === 'drive',
			command: command => this.#handleCommand(command),
		});
		for await (const bytes of keyboard.input) {
			if (bytes.length === 0) continue;
			try {
				await this.#process.write(bytes);
			} catch (error) {
				if (!isNotDriver(error)) this.#say(errorMessage(error));
			}
		}
	}

	#handleCommand(command: KeyboardCommand): void {
		switch (command) {
			case 'leave':
				this.#left.resolve(EXIT.ok);
				return;
			case 'interrupt':
				this.#left.resolve(EXIT.interrupted);
				return;
			case 'take':
				if (this.#process.role !== 'drive') void this.#ask(() => this.#process.takeOver(this.#ownSize()));
				return;
			case 'observe':
				if (this.#process.role === 'drive') void this.#ask(() => this.#process.giveBack());
				return;
			case 'ignored':
				if (!this.#hasHinted) this.#say(KEYS_HINT);
				this.#hasHinted = true;
		}
	}

	/** Says who drives afterwards, or why that is not possible. */
	async #ask(request: () => Promise<void>): Promise<void> {
		if (this.#isAsking) return;
		this.#isAsking = true;
		try {
			await request();
			this.#say(describeSeat(this.#process, false));
		} catch (error) {
			this.#say(errorMessage(error));
		} finally {
			this.#isAsking = false;
		}
	}

	#handleChange(change: ProcessChange): void {
		if (change.kind === 'driverChanged') {
			const line = describeDriverChange(change, this.#process);
			if (line !== undefined && !this.#isAsking) this.#say(line);
		} else if (change.kind === 'resized') {
			this.#size = {rows: change.rows, cols: change.cols};
			this.#compareWindow();
		}
	}

	/** Only the driver's window counts. */
	#sendSize(): void {
		const {size} = this.#ownSize();
		if (size && this.#process.role === 'drive') this.#process.resize(size).catch(() => {});
	}

	#ownSize(): {readonly size?: {readonly rows: number; readonly cols: number}} {
		return this.#terminal ? {size: this.#terminal.size} : {};
	}

	/** Says once that the terminal over there does not fit into our window. */
	#compareWindow(): void {
		if (this.#isWindowTold || !this.#terminal || !this.#size || this.#process.role === 'drive') return;
		const line = describeSmallWindow(this.#terminal.size, this.#size);
		if (line === undefined) return;
		this.#isWindowTold = true;
		this.#say(line);
	}

	async #leave(): Promise<void> {
		this.#isLeaving = true;
		await waitAtMost(
			this.#process.detach().catch(() => {}),
			LEAVE_MS,
		);
		this.#terminal?.restore();
		this.#say('left; the process runs on');
	}

	#write(stream: 'stdout' | 'stderr' | 'pty', bytes: Uint8Array): Promise<void> | undefined {
		this.#terminal?.observeOutput(bytes);
		return this.#writer.write(stream, bytes);
	}

	#reportBroken({stream, error}: BrokenStream): number {
		return error.code === 'EPIPE' ? EXIT.brokenPipe : this.#fail(`${stream}: ${error.message}`, 'The process runs on.');
	}

	#fail(message: string, hint: string): number {
		this.#terminal?.restore();
		this.#writer.say(`${this.#terminal ? '\r\n' : ''}error: ${toLine(message)}\nhint: ${toLine(hint)}\n`);
		return EXIT.notRun;
	}

	/** Writes a line of our own between the output of the process. */
	#say(text: string): void {
		const line = toLine(text);
		this.#writer.say(this.#terminal ? `\r\n\u001B[2m[longarm: ${line}]\u001B[0m\r\n` : `longarm: ${line}\n`);
	}
}
