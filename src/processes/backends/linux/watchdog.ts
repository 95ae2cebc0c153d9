// Linux only: Unix sockets and signatures of the C library.
import {closeSync, constants, writeFileSync, writeSync} from 'node:fs';
import {errorMessage} from '../../../shared/errors.js';
import type {Logger} from '../../../shared/logger.js';
import {readProcessInfo} from '../../tree/process-tree.js';
import {findOrphans, refreshOrphans, registerChild, unregisterChild} from '../../tree/subreaper.js';
import type {WatchdogState} from '../backend.js';
import type {Libc} from './libc.js';
import {FORGET, GOODBYE, PAUSE_MS, WATCHDOG_NAME, WATCHDOG_SCRIPT} from './watchdog-script.js';

const SHELL = '/bin/sh';
const AF_UNIX = 1;
const SOCK_STREAM = 1;
const SOCK_DGRAM = 2;
const SOCK_CLOEXEC = 0o2000000;
const SOL_SOCKET = 1;
const SO_RCVTIMEO = 20;
const F_SETFL = 4;
/** `struct timeval`: seconds and microseconds. */
const TIMEVAL_BYTES = 16;
/** A watchdog that ends sooner than this is replaced this long after it was started. */
const MIN_LIFETIME_MS = 1000;
/** Processes the watchdog knows by pid; the list is sent anew without those that are gone when it has grown to this. */
const MAX_TOLD = 4096;
/** The same for processes that are told although they carry a mark. */
const MAX_TOLD_MARKED = 2048;

/** How the watchdog recognises processes of this server. */
export interface Marks {
	/** Beginning of the tag of every child. */
	readonly prefix: string;
	/** Mark of all children together; undefined where it cannot be set. */
	readonly common: string | undefined;
	/** Directory of the control group they are in, if there is one. */
	readonly groupPath: string | undefined;
}

/** Spawns a program in `/` with an empty environment, with these descriptors from 3 on, and returns its pid. */
export type LaunchWatchdog = (
	argv: readonly [file: string, ...parameters: string[]],
	redirect: (actions: Uint8Array) => void,
	descriptors: readonly number[],
) => number;

/**
 * The process that kills all descendants of this one when this one is gone, even by SIGKILL. Costs nothing per child. It is
 * replaced when it ends.
 */
export class Watchdog {
	readonly #libc: Libc;
	readonly #marks: Marks;
	readonly #launch: LaunchWatchdog;
	readonly #logger: Logger;
	/** Start times by pid. */
	readonly #told = new Map<number, string>();
	/** Processes told since the watchdog last forgot all. */
	#toldCount = 0;
	#pid: number | undefined;
	/** This end of the socket whose other end is the input of the watchdog; the kernel closes it when this process exits. */
	#lifeline: number | undefined;
	#startedAt = 0;
	#hasFailed = false;

	/** Goes on with the watchdog of a program that this one has taken the place of, if it had one. */
	constructor(libc: Libc, marks: Marks, launch: LaunchWatchdog, logger: Logger, inherited?: WatchdogState) {
		this.#libc = libc;
		this.#marks = marks;
		this.#launch = launch;
		this.#logger = logger;
		process.once('exit', () => this.#sayGoodbye());
		this.#lifeline = inherited?.lifeline;
		this.#pid = inherited?.pid;
		this.#toldCount = inherited?.toldCount ?? 0;
		if (this.#pid === undefined) this.#start();
		else registerChild(this.#pid);
	}

	/** The watchdog remembers what it was told; the next program tells it again. */
	handOver(): WatchdogState {
		return {pid: this.#pid, lifeline: this.#lifeline, toldCount: this.#toldCount};
	}

	/** Undefined while there is none. */
	get pid(): number | undefined {
		return this.#pid;
	}

	/** Names a process that came from this one and carries no mark, or may lose it. */
	tell(pid: number, startTime: string, {isMarked}: {readonly isMarked: boolean}): void {
		if (this.#told.size >= (isMarked ? MAX_TOLD_MARKED : MAX_TOLD)) return;
		this.#told.set(pid, startTime);
		if (++this.#toldCount > MAX_TOLD) this.#tellAll();
		else this.#send(`${pid} ${startTime}`);
	}

	/** A process that was told is gone. */
	forget(pid: number): void {
		this.#told.delete(pid);
	}

	/** A stopped watchdog would not notice the end of this process. */
	wake(): void {
		if (this.#pid === undefined) return;
		try {
			process.kill(this.#pid, 'SIGCONT');
		} catch {}
	}

	/** Replaces the watchdog if it is this process that was reaped. */
	handleExit(pid: number): void {
		if (pid !== this.#pid) return;
		this.#pid = undefined;
		unregisterChild(pid);
		this.#logger.warn('the watchdog of this server was ended and is replaced', {pid});
		const wait = this.#startedAt + MIN_LIFETIME_MS - performance.now();
		if (wait > 0) setTimeout(() => this.#start(), wait).unref();
		else this.#start();
	}

	#start(): void {
		this.#startedAt = performance.now();
		try {
			this.#pid = this.#spawn();
		} catch (error) {
			if (!this.#hasFailed) {
				this.#logger.warn('no watchdog: processes may outlive this server if it is killed', {
					error: errorMessage(error),
				});
			}
			this.#hasFailed = true;
			setTimeout(() => this.#start(), MIN_LIFETIME_MS).unref();
			return;
		}
		this.#hasFailed = false;
		registerChild(this.#pid);
		protectFromOutOfMemory(this.#pid);
		this.#tellAll();
	}

	#spawn(): number {
		const {prefix, common, groupPath} = this.#marks;
		const own = readProcessInfo(process.pid);
		if (!own) throw new Error('/proc cannot be read');
		if (this.#lifeline !== undefined) closeSync(this.#lifeline);
		this.#lifeline = undefined;
		// Sockets: another process cannot open them by way of /proc and so keep them from ending.
		const [near, far] = this.#openSockets(SOCK_STREAM);
		const [timer, unused] = this.#openSockets(SOCK_DGRAM);
		closeSync(unused);
		try {
			this.#libc.setsockopt(timer, SOL_SOCKET, SO_RCVTIMEO, toTimeval(PAUSE_MS), TIMEVAL_BYTES);
			const facts = [String(own.pid), String(own.sessionId), own.startTime, prefix, common ?? '-', groupPath ?? ''];
			const pid = this.#launch(
				[SHELL, '-c', WATCHDOG_SCRIPT, WATCHDOG_NAME, ...facts],
				actions => {
					this.#libc.actionsDup2(actions, far, 0);
					this.#libc.actionsOpen(actions, 1, '/dev/null', constants.O_WRONLY, 0);
					this.#libc.actionsOpen(actions, 2, '/dev/null', constants.O_WRONLY, 0);
				},
				[timer],
			);
			this.#libc.fcntl(near, F_SETFL, constants.O_NONBLOCK);
			this.#lifeline = near;
			return pid;
		} catch (error) {
			closeSync(near);
			throw error;
		} finally {
			closeSync(far);
			closeSync(timer);
		}
	}

	#openSockets(type: number): [number, number] {
		const pair: [number, number] = [0, 0];
		if (this.#libc.socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, pair) !== 0) {
			throw new Error(`no socket for the watchdog: errno ${this.#libc.errno()}`);
		}
		return pair;
	}

	#tellAll(): void {
		this.#toldCount = this.#told.size;
		this.#send([FORGET, ...[...this.#told].map(([pid, startTime]) => `${pid} ${startTime}`)].join('\n'));
	}

	/** A watchdog that is not told looks longer, as after SIGKILL. */
	#sayGoodbye(): void {
		refreshOrphans();
		if (findOrphans(() => true).length === 0) this.#send(GOODBYE);
	}

	#send(line: string): void {
		if (this.#lifeline === undefined) return;
		try {
			writeSync(this.#lifeline, `${line}\n`);
		} catch {
			// It is gone, or has not read for long: it is replaced, or finds the marks all the same.
		}
	}
}

function protectFromOutOfMemory(pid: number): void {
	try {
		writeFileSync(`/proc/${pid}/oom_score_adj`, '-1000');
	} catch {
		// Only privileged users may.
	}
}

function toTimeval(ms: number): Uint8Array {
	const timeval = Buffer.alloc(TIMEVAL_BYTES);
	timeval.writeBigInt64LE(BigInt(Math.trunc(ms / 1000)), 0);
	timeval.writeBigInt64LE(BigInt((ms % 1000) * 1000), 8);
	return timeval;
}
