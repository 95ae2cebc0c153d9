import type {ProcessHandle} from '../client/process/process-handle.js';
import {type ProcessHost, type RunCommandOptions, toStartParams} from '../client/run/command.js';
import {StderrTail} from '../shared/stderr-tail.js';
import {JsonLines} from './json-lines.js';

/** Tail of stderr kept for the error message. */
const MAX_STDERR_CHARS = 64 * 1024;
/** How long a server may take to end when its input does, and again when it is asked to. */
const CLOSE_GRACE_MS = 2000;
/** A link that is back this soon was never lost; a longer loss fails whatever is pending. */
export const LOST_LINK_MS = 500;

/** The machine the server runs on. */
export type McpMachine = ProcessHost;

export interface ProcessTransportOptions extends Omit<RunCommandOptions, 'stdin' | 'tty'> {
	/** Gets what the server writes to its standard error, as it comes. */
	readonly onStderr?: (text: string) => void;
}

/** Whatever the SDK's messages are made of: they are passed on as they are. */
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
	/** Messages go out one after the other, in the order they were given. */
	#sending: Promise<unknown> = Promise.resolve();
	#isClosing = false;
	#stopListening: () => void = () => {};

	constructor(machine: McpMachine, argv: readonly string[], options: ProcessTransportOptions = {}) {
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
		const {process} = await this.#machine.processes.start(params);
		this.#state = {kind: 'open', process};
		this.#stopListening =
			this.#machine.onDisconnect?.((error, recovered) => void this.#lost(error, recovered)) ?? (() => {});
		void this.#listen(process);
	}

	async send(message: Message): Promise<void> {
		const process = this.#process();
		const line = `${JSON.stringify(message)}\n`;
		const sent = this.#sending.then(() => process.write(line));
		this.#sending = sent.catch(() => {});
		const {status} = await sent;
		if (status !== 'accepted') throw new Error(`the MCP server takes no input any more (${status})`);
	}

	/** Ends the input, waits a little for the server to end, then ends it. */
	async close(): Promise<void> {
		if (this.#state.kind !== 'open' || this.#isClosing) return;
		this.#isClosing = true;
		const {process} = this.#state;
		try {
			await endOf(process);
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
				else this.#complain(stderr.decode(piece.bytes, {stream: true}));
			}
			const {exitCode} = await process.exited;
			this.#fail(new Error(`the MCP server exited with code ${exitCode}${this.#lastWords()}`));
		} catch (error) {
			this.#fail(error instanceof Error ? error : new Error(String(error)));
			// Nobody listens to it any more.
			await quietly(process[Symbol.asyncDispose]());
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

	#complain(text: string): void {
		this.#stderr.push(text);
		this.#options.onStderr?.(text);
	}

	async #lost(cause: Error, recovered: Promise<void>): Promise<void> {
		const isBack = await settledWithin(LOST_LINK_MS, recovered);
		if (isBack || this.#state.kind !== 'open') return;
		const {process} = this.#state;
		this.#fail(cause);
		// Should the machine come back, nobody wants its answers any more.
		await quietly(process[Symbol.asyncDispose]());
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

	#lastWords(): string {
		const last = this.#stderr.text.trimEnd().split('\n').at(-1) ?? '';
		return last === '' ? '' : `: ${last}`;
	}
}

async function endOf(process: ProcessHandle): Promise<void> {
	const closed = process.closed.catch(() => {});
	// Servers that cannot be told the end of their input are asked to end.
	const isTold = await process.closeStdin().then(
		() => true,
		() => false,
	);
	await settledWithin(isTold ? CLOSE_GRACE_MS : 0, closed);
	if (process.isOver) return;
	await process.terminate({graceful: {timeoutMs: CLOSE_GRACE_MS}}).catch(() => {});
	await closed;
}

/** Whether the promise is kept in time. */
async function settledWithin(ms: number, promise: Promise<unknown>): Promise<boolean> {
	let timer: ReturnType<typeof setTimeout> | undefined;
	const late = new Promise<boolean>(resolve => {
		timer = setTimeout(() => resolve(false), ms);
	});
	try {
		return await Promise.race([promise.then(() => true), late]);
	} catch {
		return false;
	} finally {
		clearTimeout(timer);
	}
}

async function quietly(promise: PromiseLike<unknown>): Promise<void> {
	try {
		await promise;
	} catch {}
}
