// Linux only: memfd_create, and machine code for x64 and arm64.
import {closeSync, readSync, writeSync} from 'node:fs';
import {Socket} from 'node:net';
import {endianness} from 'node:os';
import {LongarmError} from '../../../shared/errors.js';
import {F_DUPFD_CLOEXEC, openMemoryFile} from '../../../shared/node/memory-file.js';
import type {SpawnRequest} from '../backend.js';
import {spawnError} from '../backend.js';
import {LAUNCHER_CODE, toExecutable} from './launcher-code.js';
import type {Libc} from './libc.js';

const AF_UNIX = 1;
const SOCK_STREAM = 1;
const SOCK_CLOEXEC = 0o2000000;
/** Above every descriptor a child is given, so that none of these is overwritten while they are put in place. */
const LOWEST_SOURCE_FD = 64;
const ERRNO_BYTES = 4;
/**
 * Longest time to wait for a launcher on the event loop, as `posix_spawn` itself does. It needs a fraction of this, unless
 * others have the processor: then the event loop goes on, and a stream tells, which costs more per start.
 */
const MAX_BLOCKING_MS = 2;
/** `struct pollfd`: the descriptor, the events asked for and those that came. */
const POLLFD_BYTES = 8;
const POLLIN = 1;

/** Program to spawn in the place of the requested one. */
export interface LauncherCommand {
	readonly file: string;
	readonly argv: readonly string[];
	/** Given to the child from `firstFd` on. */
	readonly descriptors: readonly number[];
}

export interface LaunchSteps {
	/** First descriptor of the child that is free; the launcher needs two. */
	readonly firstFd: number;
	readonly spawn: (launcher: LauncherCommand) => number;
	/** Sets up the child while none of the requested program has run. */
	readonly prepare: (pid: number) => void;
	/** Ends and reaps a child that did not become the program; one that fails to while `pending` ends by itself. */
	readonly discard: (pid: number) => void;
}

/** A launcher that has been told to become the program. */
export interface Launch {
	readonly pid: number;
	/** Settles when it has become the program, or could not; undefined if it has already. */
	readonly pending: Promise<void> | undefined;
}

/**
 * Starts a program in two steps: a launcher of a few instructions takes its place and waits, and becomes the program
 * (same process, `execve`) once `prepare` is done. The launcher leaves arguments, variables and descriptors as they are
 * and reports a failed `execve`, so that a start looks the same with and without it.
 */
export class WaitingLauncher {
	readonly #libc: Libc;
	readonly #executable: number;

	constructor(libc: Libc) {
		this.#libc = libc;
		this.#executable = createExecutable(libc);
	}

	launch({file, argv}: Pick<SpawnRequest, 'file' | 'argv'>, {firstFd, spawn, prepare, discard}: LaunchSteps): Launch {
		const {near, far} = this.#openChannel(file);
		let pid: number | undefined;
		try {
			pid = spawnAndClose(far, () =>
				spawn({
					file: `/proc/self/fd/${firstFd + 1}`,
					argv: [String.fromCharCode(firstFd), file, ...argv],
					descriptors: [far, this.#executable],
				}),
			);
			prepare(pid);
			writeSync(near, 'x');
			if (!this.#isReadable(near)) return {pid, pending: finishLater(near, file)};
			requireStarted(readErrno(near), file);
		} catch (error) {
			closeSync(near);
			if (pid !== undefined) discard(pid);
			throw error;
		}
		closeSync(near);
		return {pid, pending: undefined};
	}

	/** True once the launcher has become the program, has failed to, or is gone. */
	#isReadable(channel: number): boolean {
		const entry = Buffer.alloc(POLLFD_BYTES);
		entry.writeInt32LE(channel, 0);
		entry.writeInt16LE(POLLIN, 4);
		return this.#libc.poll(entry, 1, MAX_BLOCKING_MS) > 0;
	}

	#openChannel(file: string): {near: number; far: number} {
		const pair: [number, number] = [0, 0];
		if (this.#libc.socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) !== 0) {
			throw spawnError(this.#libc.errno(), file);
		}
		const [near, low] = pair;
		const far = this.#libc.fcntl(low, F_DUPFD_CLOEXEC, LOWEST_SOURCE_FD);
		const errno = far < 0 ? this.#libc.errno() : 0;
		closeSync(low);
		if (errno === 0) return {near, far};
		closeSync(near);
		throw spawnError(errno, file);
	}
}

/** The near end of a channel sees the end of the launcher only when the launcher alone has the far one. */
function spawnAndClose(far: number, spawn: () => number): number {
	try {
		return spawn();
	} finally {
		closeSync(far);
	}
}

/** Descriptor of a file in memory that holds the launcher. */
function createExecutable(libc: Libc): number {
	const code = LAUNCHER_CODE[process.arch];
	if (!code || endianness() !== 'LE') throw notSupportedError(`there is no launcher for ${process.arch}`);
	const options = {minFd: LOWEST_SOURCE_FD, isExecutable: true};
	return openMemoryFile(libc, toExecutable(code), options, () =>
		notSupportedError('the system does not allow programs in memory (vm.memfd_noexec)'),
	);
}

/** Closes the channel. */
async function finishLater(channel: number, file: string): Promise<void> {
	requireStarted(await receiveErrno(channel), file);
}

function requireStarted(errno: number, file: string): void {
	if (errno !== 0) throw spawnError(errno, file);
}

/** Message of a readable channel: 0 if the launcher has become the program, or was killed before, which its exit tells. */
function readErrno(channel: number): number {
	const message = Buffer.alloc(ERRNO_BYTES);
	try {
		return parseErrno(message.subarray(0, readSync(channel, message)));
	} catch {
		return 0;
	}
}

/** The same for a channel that is not readable yet; closes it. */
function receiveErrno(channel: number): Promise<number> {
	return new Promise(resolve => {
		let errno = 0;
		new Socket({fd: channel, readable: true, writable: false})
			.on('data', message => {
				errno = parseErrno(message);
			})
			.on('error', () => {})
			.on('close', () => resolve(errno));
	});
}

function parseErrno(message: Buffer): number {
	return message.length === ERRNO_BYTES ? -message.readInt32LE() : 0;
}

function notSupportedError(reason: string): LongarmError {
	return new LongarmError('NOT_SUPPORTED', {message: `limits of children cannot be set before they run: ${reason}`});
}
