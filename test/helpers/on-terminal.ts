import {onTestFinished} from 'vitest';
import type {ExitStatus, ProcessHandle} from '../../src/client/process/process-handle.js';
import {LocalProcesses} from '../../src/environments/local/local-processes.js';
import {PROGRAM} from './command.js';

const ESCAPE = '\u001B';

/** A program on a terminal of its own, 30 rows by 100 columns; ended with the test. */
export class OnTerminal {
	readonly #process: ProcessHandle;
	readonly #watchers = new Set<() => void>();
	/** Everything that was written to the terminal so far. */
	raw = '';
	#from = 0;
	readonly #listened: Promise<void>;

	static longarm(...args: string[]): Promise<OnTerminal> {
		return OnTerminal.start([process.execPath, PROGRAM, ...args]);
	}

	static async start(argv: string[]): Promise<OnTerminal> {
		const processes = new LocalProcesses();
		onTestFinished(() => processes.close());
		const {process: handle} = await processes.start({
			processId: 'p',
			argv,
			cwd: 'file:///tmp',
			env: {PATH: process.env['PATH']!, HOME: '/nonexistent', TERM: 'xterm', PS1: '$ '},
			tty: true,
			io: {pty: {rows: 30, cols: 100}},
		});
		return new OnTerminal(handle);
	}

	private constructor(handle: ProcessHandle) {
		this.#process = handle;
		this.#listened = this.#listen();
	}

	get exited(): Promise<ExitStatus> {
		return this.#process.exited;
	}

	/** The same, when all that it wrote is here. */
	get ended(): Promise<ExitStatus> {
		return this.#listened.then(() => this.exited);
	}

	/** The same without what moves the cursor and changes colours. */
	get text(): string {
		return this.raw
			.split(ESCAPE)
			.map((part, index) => (index === 0 ? part : part.replace(/^(?:\[[\d;?>]*[A-Za-z]|[()][A-Z0-9]|[=>78])/, '')))
			.join('');
	}

	async type(text: string): Promise<void> {
		await this.#process.write(text);
	}

	async resize(rows: number, cols: number): Promise<void> {
		await this.#process.resize({rows, cols});
	}

	async signal(name: string): Promise<void> {
		await this.#process.signal({name});
	}

	/** Settles when this is shown behind what was last waited for. */
	async shows(expected: string): Promise<void> {
		for (;;) {
			const at = this.text.indexOf(expected, this.#from);
			if (at !== -1) {
				this.#from = at + expected.length;
				return;
			}
			if (this.#process.isOver)
				throw new Error(`never showed ${JSON.stringify(expected)}: ${JSON.stringify(this.text)}`);
			await new Promise<void>(resolve => this.#watchers.add(resolve));
		}
	}

	async #listen(): Promise<void> {
		for await (const piece of this.#process.output()) {
			if (piece.kind === 'output') this.raw += Buffer.from(piece.bytes).toString('latin1');
			this.#wake();
		}
		this.#wake();
	}

	#wake(): void {
		for (const tell of this.#watchers) tell();
		this.#watchers.clear();
	}
}
