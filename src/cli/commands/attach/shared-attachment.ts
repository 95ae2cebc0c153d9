import {isatty} from 'node:tty';
import {type ProcessHandle, ProcessLostError} from '../../../client/process/process-handle.js';
import type {ProcessChange} from '../../../client/process/shared-process.js';
import {RejectedError} from '../../../client/session/client-errors.js';
import type {Environment} from '../../../environments/environment.js';
import {UnknownProcessError} from '../../../environments/processes/unknown-process-error.js';
import {RpcError} from '../../../protocol/wire/error-codes.js';
import {DisconnectedError} from '../../../rpc/disconnected-error.js';
import {Deferred} from '../../../shared/async/deferred.js';
import {waitAtMost} from '../../../shared/async/timeout.js';
import {errorMessage, LongarmError} from '../../../shared/errors.js';
import {hintOf} from '../../common/hint-of.js';
import {toLine} from '../../common/messages.js';
import {EXIT} from '../../exit-codes.js';
import {explainLoss, isSessionLost} from '../run/attach/explain-loss.js';
import {LinkWatch} from '../run/attach/link-watch.js';
import {describeBytes, MissingOutput} from '../run/attach/missing-output.js';
import {type BrokenStream, OutputWriter, STDOUT} from '../run/attach/output-writer.js';
import type {OwnTerminal, WindowSize} from '../run/attach/own-terminal.js';
import {detectInputKind, openInput} from '../run/attach/stdin.js';
import {AttachKeyboard, type KeyboardCommand} from './attach-keyboard.js';
import type {Entrance} from './enter-process.js';
import {describeDriverChange, describeSeat, describeSmallWindow} from './seat-lines.js';
import {showEnded} from './show-ended.js';
import {isNotDriver, type WantedRole} from './take-seat.js';

/** Time limit for telling the server that we leave. */
const LEAVE_MS = 1000;
const SIGNALS = {SIGINT: EXIT.interrupted, SIGTERM: 143, SIGHUP: 129} as const;
const RESTARTED_HINT = 'The server may have been restarted; processes without --keep end with their server.';
const KEYS_HINT = 'you are watching: ~t takes over, ~d leaves';

/** Pause between two attempts to find the process again. */
const ENTER_INTERVAL_MS = 2000;
const KEYS_LOST = 'keys that were typed without a link were not sent';

interface AttachmentContext {
	/** Undefined where keys do not go to a terminal of the process one by one. */
	readonly terminal: OwnTerminal | undefined;
	/** Attaches anew when the session is lost. */
	readonly enter: (wanted: WantedRole) => Promise<Entrance>;
	/** A shell to come back to was asked for. */
	readonly isShell: boolean;
	/** The command that leads here again; undefined where nobody may be told. */
	readonly wayBack: (() => Promise<string>) | undefined;
}

type Entered = Extract<Entrance, {readonly kind: 'entered'}>;

/** Our own streams at a process of which we are one client of several. Leaving never ends the process. */
export class SharedAttachment {
	#process: ProcessHandle;
	readonly #context: AttachmentContext;
	readonly #first: Entered;
	readonly #terminal: OwnTerminal | undefined;
	readonly #writer = new OutputWriter();
	readonly #missing = new MissingOutput();
	readonly #left = new Deferred<number>();
	readonly #link: LinkWatch;
	/** Known before we came. */
	#exitCode: number | null;
	#stopListening = (): void => {};
	#size: {readonly rows: number; readonly cols: number} | undefined;
	#hasHinted = false;
	/** We have asked for another role, and say ourselves what came of it. */
	#isAsking = false;
	#isWindowTold = false;
	#isLeaving = false;

	constructor(environment: Environment, first: Entered, context: AttachmentContext) {
		const {terminal} = context;
		this.#process = first.handle;
		this.#first = first;
		this.#context = context;
		this.#terminal = terminal;
		this.#exitCode = first.listed.exitCode;
		this.#link = new LinkWatch(environment, {
			say: text => this.#say(text),
			wayOut: terminal ? 'Enter ~. leaves' : 'Ctrl-C leaves',
			...(terminal && {redraw: text => terminal.redrawStatus(text)}),
			outlivesSession: terminal !== undefined,
			back: () => this.#sendSize(terminal?.redrawingSizes),
		});
	}

	async run(): Promise<number> {
		for (const [signal, code] of Object.entries(SIGNALS)) process.on(signal, () => this.#left.resolve(code));
		this.#terminal?.onResize(() => this.#sendSize());
		this.#use(this.#first);
		this.#say(describeSeat(this.#process, this.#first.isSeatTaken));
		this.#compareWindow();
		void this.#passKeys();
		let hasLeft = false;
		const left = this.#left.promise.then(leftWith => {
			hasLeft = true;
			return leftWith;
		});
		const code = await Promise.race([
			this.#follow(),
			left,
			this.#writer.broken.then(broken => this.#reportBroken(broken)),
		]);
		this.#stopListening();
		this.#link.stop();
		if (hasLeft || !this.#process.isOver) await this.#leave();
		await this.#writer.flush();
		return code;
	}

	/** Shows the output to its end, after a lost session as well. */
	async #follow(): Promise<number> {
		for (;;) {
			try {
				return await this.#showOutput();
			} catch (error) {
				// The handle is given up when we leave.
				if (this.#isLeaving) return EXIT.ok;
				if (!(error instanceof ProcessLostError)) throw error;
				// The screen is drawn anew. Without a terminal somebody counts on getting every byte once.
				const mayEnter = this.#terminal !== undefined && isSessionLost(error);
				const code = mayEnter ? await this.#enterAgain() : await this.#failLost(error);
				if (code !== undefined) return code;
			}
		}
	}

	/** Looks for the process until the server answers. Settles with an exit code if it is over, or cannot be had any more. */
	async #enterAgain(): Promise<number | undefined> {
		const wanted = this.#process.role === 'drive' ? 'drive-if-free' : 'observe';
		while (!this.#isLeaving) {
			try {
				const entrance = await this.#context.enter(wanted);
				if (entrance.kind === 'over') return await showEnded(entrance.listed, entrance.first, this.#terminal);
				this.#use(entrance);
				this.#link.restored();
				if (entrance.isSeatTaken) this.#say(describeSeat(this.#process, true));
				return undefined;
			} catch (error) {
				if (isRefusal(error)) return this.#fail(errorMessage(error), hintOf(error) ?? RESTARTED_HINT);
			}
			await waitAtMost(this.#left.promise, ENTER_INTERVAL_MS);
		}
		return EXIT.ok;
	}

	#use({handle, listed, first}: Entered): void {
		this.#stopListening();
		this.#process = handle;
		this.#exitCode = listed.exitCode;
		this.#size = listed.rows && listed.cols ? {rows: listed.rows, cols: listed.cols} : undefined;
		this.#stopListening = handle.onChange(change => this.#handleChange(change));
		for (const {stream, bytes} of first) void this.#write(stream, bytes);
	}

	async #showOutput(): Promise<number> {
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
	}

	async #failLost(error: Error): Promise<number> {
		const {message, hint} = explainLoss(error);
		const wayBack = await this.#context.wayBack?.();
		return this.#fail(message, wayBack === undefined ? hint : `It may still run. Come back with: ${wayBack}`);
	}

	/** Keys go to the process while we drive it; its input stays open when ours ends. */
	async #passKeys(): Promise<void> {
		const kind = detectInputKind();
		if (kind === 'nothing') return;
		const source = openInput(kind);
		source.on('error', error => this.#say(`standard input: ${error.message}`));
		const keyboard = new AttachKeyboard(source, {
			isLinkUp: () => this.#link.isUp,
			isDriving: () => this.#process.role === 'drive',
			command: command => this.#handleCommand(command),
		});
		for await (const bytes of keyboard.input) {
			if (bytes.length === 0) continue;
			try {
				await this.#process.write(bytes);
			} catch (error) {
				if (error instanceof DisconnectedError) this.#say(KEYS_LOST);
				else if (!isNotDriver(error)) this.#say(errorMessage(error));
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
	#sendSize(sizes: readonly WindowSize[] = this.#terminal ? [this.#terminal.size] : []): void {
		if (this.#process.role !== 'drive') return;
		for (const size of sizes) this.#process.resize(size).catch(() => {});
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
		// The user has typed `longarm attach`, and knows how to come back.
		const wayBack = this.#context.isShell || !this.#link.isUp ? await this.#context.wayBack?.() : undefined;
		if (wayBack !== undefined) this.#say(`come back with: ${wayBack}`);
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

/** Whether the server has answered, and not with the process: asking again cannot help. */
function isRefusal(error: unknown): boolean {
	if (error instanceof RejectedError || error instanceof UnknownProcessError || error instanceof LongarmError)
		return true;
	return error instanceof Error && error.cause instanceof RpcError;
}
