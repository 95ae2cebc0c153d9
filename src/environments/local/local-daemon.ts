import {spawn} from 'node:child_process';
import {closeSync, existsSync, openSync, readdirSync, readFileSync} from 'node:fs';
import {connect} from 'node:net';
import {join} from 'node:path';
import {waitAtMost} from '../../shared/async/timeout.js';
import {LongarmError} from '../../shared/errors.js';
import type {ConfigVariables} from '../config/config-variables.js';
import type {EnvironmentBackend} from '../environment-backend.js';
import {describeThisClient} from '../remote/this-client.js';
import {type DaemonPlace, daemonPlaceOf, isTrustedPlace, prepareDaemonPlace} from './daemon-place.js';
import {findOwnCommand} from './own-command.js';

/** Time for a daemon to listen after it was started. */
const MAX_START_MS = 20_000;
const POLL_INTERVAL_MS = 20;
/** Looks after the one that was started has ended: another starter was first, and its daemon may not listen yet. */
const MAX_LOOKS_AFTER_END = 50;
/** Daemons that are started one after another: the first may find one that is about to exit. */
const MAX_STARTS = 3;
/** Attempts to connect to a daemon that may exit, because it was idle, at the same moment. */
const MAX_CONNECTS = 3;
/** The daemon exits after this time without clients and processes. */
export const DAEMON_IDLE_MS = 10 * 60_000;
/** Starts its arguments in the background, with its standard error as output, and prints their process id. */
const LAUNCHER = '"$@" >&2 & echo $!';
const EXIT_IDLE = ['--exit-idle', `${DAEMON_IDLE_MS}ms`] as const;
/** Time for the daemon to exit after it was asked to. */
const MAX_STOP_MS = 20_000;
const LOG_MODE = 0o600;
/** Characters of the log that an error shows. */
const MAX_LOG_TAIL = 500;

/** Directory of the processes below the state of a server. */
const PROCESSES = 'processes';

/** Options of a `LocalDaemon`. */
export interface LocalDaemonOptions {
	readonly variables: ConfigVariables;
	/** Command in place of this package's own, without `serve` and its options. */
	readonly command?: readonly string[] | undefined;
}

/**
 * The server of this user on this machine, which keeps processes that outlive the programs that started them. It listens
 * on a socket in the state directory, is started when the first of them is, and exits when it has been idle for a while.
 */
export class LocalDaemon {
	readonly place: DaemonPlace;
	readonly #options: LocalDaemonOptions;
	#backend: Promise<EnvironmentBackend> | undefined;

	constructor(options: LocalDaemonOptions) {
		this.#options = options;
		this.place = daemonPlaceOf(options.variables);
	}

	/**
	 * The daemon if it runs. One that has exited is started again if it has left processes of this kind: ended ones with their
	 * output, or `running` ones in a keeper.
	 */
	async find(left: 'any' | 'running' | 'none' = 'any'): Promise<EnvironmentBackend | undefined> {
		const isThere = (await this.#isListening()) || (left !== 'none' && (await this.#hasLeft(left)));
		return isThere ? this.open() : undefined;
	}

	/** The daemon, started if it does not run. It does not exit while this program is connected to it. */
	async open(): Promise<EnvironmentBackend> {
		for (let attempt = 1; ; attempt++) {
			if (!(await this.#isListening())) await this.#start();
			const backend = await this.#connect();
			try {
				await backend.server();
				return backend;
			} catch (error) {
				await this.close();
				if (attempt === MAX_CONNECTS) throw error;
			}
		}
	}

	/** Ends the connection; the daemon runs on. */
	async close(): Promise<void> {
		const backend = this.#backend;
		this.#backend = undefined;
		await (await backend)?.close();
	}

	/** Asks the daemon to exit, and waits until it has. Returns its process id; undefined if none runs. */
	async stop(): Promise<number | undefined> {
		const {readLockHolder} = await import('../../processes/spill/state-lock.js');
		const pid = (await this.#isListening()) ? readLockHolder(this.place.state) : undefined;
		if (pid === undefined) return undefined;
		const deadline = performance.now() + MAX_STOP_MS;
		process.kill(pid, 'SIGTERM');
		while (isRunning(pid)) {
			if (performance.now() >= deadline) {
				const message = `the local daemon, process ${pid}, has not exited after ${MAX_STOP_MS / 1000} s`;
				throw new LongarmError('STATE_UNUSABLE', {message, context: {pid}});
			}
			await pause();
		}
		return pid;
	}

	async #hasLeft(left: 'any' | 'running'): Promise<boolean> {
		const {state} = this.place;
		if (left === 'any') return existsSync(join(state, PROCESSES)) && readdirSync(join(state, PROCESSES)).length > 0;
		if (!existsSync(state)) return false;
		const {isKeeperAlive, listKeeperRecords} = await import('../../server/keeper/keeper-record.js');
		return listKeeperRecords(state).some(isKeeperAlive);
	}

	#connect(): Promise<EnvironmentBackend> {
		this.#backend ??= import('../remote/remote-backend.js').then(
			({RemoteBackend}) => new RemoteBackend({kind: 'unix', path: this.place.socket, clientName: describeThisClient()}),
		);
		return this.#backend;
	}

	/**
	 * Of two that start it at once, one daemon refuses to run, and both starters find the other. A daemon that is about to exit
	 * makes the next one refuse to run, too: then another one is started.
	 */
	async #start(): Promise<void> {
		prepareDaemonPlace(this.place);
		for (let starts = 1; starts <= MAX_STARTS; starts++) if (await this.#startOnce()) return;
		throw this.#startError();
	}

	/** Whether a daemon listens. */
	async #startOnce(): Promise<boolean> {
		const pid = await this.#spawn();
		const deadline = performance.now() + MAX_START_MS;
		let looks = 0;
		while (!(await this.#isListening())) {
			const isAlive = pid !== undefined && isRunning(pid);
			const isOver = isAlive ? performance.now() >= deadline : ++looks > MAX_LOOKS_AFTER_END;
			if (isOver) return false;
			await pause();
		}
		return true;
	}

	/**
	 * In a session of its own, so that no signal of our terminal reaches it, and not below this program, which may be ended with
	 * everything below it. Settles with the process id; undefined if nothing could be started.
	 */
	#spawn(): Promise<number | undefined> {
		const {state, socket, log} = this.place;
		const {command = findOwnCommand(), variables} = this.#options;
		const args = [...command, 'serve', '--listen', `unix:${socket}`, '--state', state, ...EXIT_IDLE];
		const output = openSync(log, 'a', LOG_MODE);
		try {
			const shell = spawn('/bin/sh', ['-c', LAUNCHER, 'sh', ...args], {
				cwd: '/',
				detached: true,
				env: variables,
				stdio: ['ignore', 'pipe', output],
			});
			let text = '';
			const stdout = shell.stdout!;
			stdout.setEncoding('utf8').on('data', (piece: string) => {
				text += piece;
			});
			return new Promise(resolve => {
				shell.once('error', () => resolve(undefined));
				stdout.once('close', () => resolve(Number.parseInt(text, 10) || undefined));
			});
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

function pause(): Promise<unknown> {
	return waitAtMost(new Promise(() => {}), POLL_INTERVAL_MS);
}

function isRunning(pid: number): boolean {
	try {
		return process.kill(pid, 0);
	} catch {
		return false;
	}
}
