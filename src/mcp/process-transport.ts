import {inputRefusalOf} from '../client/process/input-closed.js';
import type {ProcessHandle} from '../client/process/process-handle.js';
import {
	COMMAND_OPTIONS,
	type ProcessHost,
	type RunCommandOptions,
	requireArguments,
	toStartParams,
} from '../client/run/command.js';
import {Mutex} from '../shared/async/mutex.js';
import {withTimeout} from '../shared/async/timeout.js';
import {type OptionTable, readOptions} from '../shared/call-options.js';
import {StderrTail} from '../shared/stderr-tail.js';
import {JsonLines} from './json-lines.js';

/** Tail of stderr kept for the error message, in characters. */
const MAX_STDERR_CHARS = 64 * 1024;
/** Grace period after the end of the input, and again after the request to end. */
const CLOSE_GRACE_MS = 2000;
/** Time in which the exit of a server that takes no input is heard of. */
const EXIT_NOTICE_MS = 500;
/** Interruption of the connection that is tolerated; a longer one fails all pending requests. */
export const LOST_LINK_MS = 500;

/** The machine the server runs on. */
export type McpMachine = ProcessHost;

/** Options of a `ProcessTransport`. */
export interface ProcessTransportOptions extends Omit<RunCommandOptions, 'stdin' | 'tty'> {
	/** Gets what the server writes to its standard error, as it comes. */
	readonly onStderr?: (text: string) => void;
}

const {stdin: _, tty: __, ...SERVER_COMMAND} = COMMAND_OPTIONS;
const TRANSPORT_OPTIONS: OptionTable<ProcessTransportOptions> = {...SERVER_COMMAND, onStderr: 'function'};

/** Messages of the SDK are passed on as they are. */
type Message = object;

type State =
	| {readonly kind: 'new'}
	| {readonly kind: 'open'; readonly process: ProcessHandle}
	| {readonly kind: 'closed'};

/**
 * Runs an MCP server that speaks over its standard input and output on any machine, as a transport of the MCP SDK's
 * client. The end of the server and the loss of its machine are told at once, so that nothing pending hangs.
 */
export class ProcessTransport {
	onclose?: (() => void) | undefined;
	onerror?: ((error: Error) => void) | undefined;
	onmessage?: ((message: unknown) => void) | undefined;
	readonly #machine: McpMachine;
	readonly #argv: readonly string[];
	readonly #options: ProcessTransportOptions;
	#state: State = {kind: 'new'};
	readonly #stderr = new StderrTail(MAX_STDERR_CHARS);
	/** Messages are written one after the other, in the order of the calls. */
	readonly #writes = new Mutex();
	#isClosing = false;
	#stopListening: () => void = () => {};

	constructor(machine: McpMachine, argv: readonly string[], options: ProcessTransportOptions = {}) {
		readOptions<ProcessTransportOptions>(options, TRANSPORT_OPTIONS, 'ProcessTransport');
		requireArguments(argv);
		this.#machine = machine;
		this.#argv = argv;
		this.#options = options;
	}

	/** The end of what the server wrote to its standard error. */
	get stderr(): string {
		return this.#stderr.text;
	}

	/** Called by the SDK. */
	async start(): Promise<void> {
		if (this.#state.kind !== 'new') throw new Error('the transport was started already');
		const params = await toStartParams(this.#machine, this.#argv, {...this.#options, stdin: true});
		const {process} = await this.#machine.processes.start(params, {backpressure: true});
		this.#state = {kind: 'open', process};
		this.#stopListening =
			this.#machine.onDisconnect?.((error, recovered) => void this.#onDisconnect(error, recovered)) ?? (() => {});
		void this.#listen(process);
	}

	async send(message: Message): Promise<void> {
		const process = this.#process();
		const line = `${JSON.stringify(message)}\n`;
		try {
			await this.#writes.run(() => process.write(line));
		} catch (error) {
			const refusal = inputRefusalOf(error);
			if (!refusal) throw error;
			// An exit is told with its code, by the end of the output.
			if (await isFulfilledWithin(EXIT_NOTICE_MS, process.exited)) return;
			throw new Error(`the MCP server takes no input any more (${refusal})`, {cause: error});
		}
	}

	/** Ends the input, waits a little for the server to end, then ends it. */
	async close(): Promise<void> {
		if (this.#state.kind !== 'open' || this.#isClosing) return;
		this.#isClosing = true;
		const {process} = this.#state;
		try {
			await endProcess(process);
		} finally {
			this.#end();
		}
	}

	#process(): ProcessHandle {
		if (this.#state.kind !== 'open') throw new Error('the MCP server is not running');
		return this.#state.process;
	}

	async #listen(process: ProcessHandle): Promise<void> {
		const lines = new JsonLines(line => this.#receive(line));
		const stderr = new TextDecoder();
		try {
			for await (const piece of process.output()) {
				if (piece.kind === 'gap') throw new Error('output of the MCP server was lost');
				if (piece.stream === 'stdout') lines.push(piece.bytes);
				else this.#recordStderr(stderr.decode(piece.bytes, {stream: true}));
			}
			const {exitCode} = await process.exited;
			this.#fail(new Error(`the MCP server exited with code ${exitCode}${this.#lastStderrLine()}`));
		} catch (error) {
			this.#fail(error instanceof Error ? error : new Error(String(error)));
			// Its output has no reader any more.
			await ignoreFailure(process[Symbol.asyncDispose]());
		}
	}

	#receive(line: string): void {
		let message: unknown;
		try {
			message = JSON.parse(line) as unknown;
		} catch {
			this.onerror?.(new Error(`the MCP server said something that is not JSON: ${line.slice(0, 200)}`));
			return;
		}
		this.onmessage?.(message);
	}

	#recordStderr(text: string): void {
		this.#stderr.push(text);
		this.#options.onStderr?.(text);
	}

	async #onDisconnect(cause: Error, recovered: Promise<void>): Promise<void> {
		const isBack = await isFulfilledWithin(LOST_LINK_MS, recovered);
		if (isBack || this.#state.kind !== 'open') return;
		const {process} = this.#state;
		this.#fail(cause);
		// Should the machine come back, its answers have no reader any more.
		await ignoreFailure(process[Symbol.asyncDispose]());
	}

	#fail(error: Error): void {
		if (this.#state.kind === 'open' && !this.#isClosing) this.onerror?.(error);
		this.#end();
	}

	#end(): void {
		if (this.#state.kind === 'closed') return;
		this.#state = {kind: 'closed'};
		this.#stopListening();
		this.onclose?.();
	}

	#lastStderrLine(): string {
		const last = this.#stderr.text.trimEnd().split('\n').at(-1) ?? '';
		return last === '' ? '' : `: ${last}`;
	}
}

async function endProcess(process: ProcessHandle): Promise<void> {
	const closed = process.closed.catch(() => {});
	// Servers that cannot be told the end of their input are asked to end.
	const isTold = await process.closeStdin().then(
		() => true,
		() => false,
	);
	await isFulfilledWithin(isTold ? CLOSE_GRACE_MS : 0, closed);
	if (process.isOver) return;
	await process.terminate({graceful: {timeoutMs: CLOSE_GRACE_MS}}).catch(() => {});
	await closed;
}

/** Whether the promise is fulfilled in time. */
function isFulfilledWithin(ms: number, promise: Promise<unknown>): Promise<boolean> {
	const fulfilled = promise.then(
		() => true,
		() => false,
	);
	return withTimeout(fulfilled, ms, () => false);
}

async function ignoreFailure(promise: PromiseLike<unknown>): Promise<void> {
	try {
		await promise;
	} catch {}
}
