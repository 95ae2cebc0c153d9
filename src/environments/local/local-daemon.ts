import {type ChildProcess, spawn} from 'node:child_process';
import {closeSync, existsSync, openSync, readFileSync} from 'node:fs';
import {connect} from 'node:net';
import {fileURLToPath} from 'node:url';
import {waitAtMost} from '../../shared/async/timeout.js';
import {LongarmError} from '../../shared/errors.js';
import type {ConfigVariables} from '../config/config-variables.js';
import type {EnvironmentBackend} from '../environment-backend.js';
import {describeThisClient} from '../remote/this-client.js';
import {type DaemonPlace, daemonPlaceOf, isTrustedPlace, prepareDaemonPlace} from './daemon-place.js';

/** Time for a daemon to listen after it was started. */
const MAX_START_MS = 20_000;
const POLL_INTERVAL_MS = 20;
/** Looks after the one that was started has ended: another starter was first, and its daemon may not listen yet. */
const MAX_LOOKS_AFTER_END = 150;
const LOG_MODE = 0o600;
/** Characters of the log that an error shows. */
const MAX_LOG_TAIL = 500;

/** Places of the command relative to this file: in the package, in the command itself, and in the source. */
const PROGRAMS = ['../../bin/longarm.js', './longarm.js', '../../../dist/bin/longarm.js'];

/** Options of a `LocalDaemon`. */
export interface LocalDaemonOptions {
	readonly variables: ConfigVariables;
	/** Command in place of this package's own, without `serve` and its options. */
	readonly command?: readonly string[] | undefined;
}

/**
 * The server of this user on this machine, which keeps processes that outlive the programs that started them. It listens
 * on a socket in the state directory, and is started when the first of them is.
 */
export class LocalDaemon {
	readonly place: DaemonPlace;
	readonly #options: LocalDaemonOptions;
	#backend: Promise<EnvironmentBackend> | undefined;

	constructor(options: LocalDaemonOptions) {
		this.#options = options;
		this.place = daemonPlaceOf(options.variables);
	}

	/** The daemon if it runs; never starts one. */
	async find(): Promise<EnvironmentBackend | undefined> {
		return (await this.#isListening()) ? this.#connect() : undefined;
	}

	/** The daemon, started if it does not run. */
	async open(): Promise<EnvironmentBackend> {
		if (!(await this.#isListening())) await this.#start();
		return this.#connect();
	}

	/** Ends the connection; the daemon runs on. */
	async close(): Promise<void> {
		await (await this.#backend)?.close();
	}

	#connect(): Promise<EnvironmentBackend> {
		this.#backend ??= import('../remote/remote-backend.js').then(
			({RemoteBackend}) => new RemoteBackend({kind: 'unix', path: this.place.socket, clientName: describeThisClient()}),
		);
		return this.#backend;
	}

	/** Of two that start it at once, one daemon refuses to run, and both starters find the other. */
	async #start(): Promise<void> {
		prepareDaemonPlace(this.place);
		const child = this.#spawn();
		let isRunning = true;
		child.once('exit', () => {
			isRunning = false;
		});
		child.once('error', () => {
			isRunning = false;
		});
		const deadline = performance.now() + MAX_START_MS;
		let looks = 0;
		while (!(await this.#isListening())) {
			const isOver = isRunning ? performance.now() >= deadline : ++looks > MAX_LOOKS_AFTER_END;
			if (isOver) throw this.#startError();
			await waitAtMost(new Promise(() => {}), POLL_INTERVAL_MS);
		}
	}

	/** In a session of its own, so that no signal of our terminal reaches it. */
	#spawn(): ChildProcess {
		const {state, socket, log} = this.place;
		const {command = ownCommand(), variables} = this.#options;
		const [program, ...args] = [...command, 'serve', '--listen', `unix:${socket}`, '--state', state];
		const output = openSync(log, 'a', LOG_MODE);
		try {
			const child = spawn(program, args, {
				cwd: '/',
				detached: true,
				env: variables,
				stdio: ['ignore', output, output],
			});
			child.unref();
			return child;
		} finally {
			closeSync(output);
		}
	}

	#isListening(): Promise<boolean> {
		if (!isTrustedPlace(this.place)) return Promise.resolve(false);
		return new Promise(resolve => {
			const socket = connect({path: this.place.socket});
			socket.once('connect', () => {
				socket.destroy();
				resolve(true);
			});
			socket.once('error', () => resolve(false));
		});
	}

	#startError(): LongarmError {
		const {log} = this.place;
		const said = readFileSync(log, 'utf8').trim().slice(-MAX_LOG_TAIL);
		const message = `the local daemon does not start; ${log} ends with: ${said || '(nothing)'}`;
		return new LongarmError('STATE_UNUSABLE', {message, context: {log}});
	}
}

function ownCommand(): string[] {
	const program = PROGRAMS.map(path => fileURLToPath(new URL(path, import.meta.url))).find(path => existsSync(path));
	if (program !== undefined) return [process.execPath, program];
	throw new LongarmError('NOT_SUPPORTED', {message: 'the command that runs the local daemon is not installed'});
}
