// Linux only: memfd_create, and machine code for x64 and arm64.
import {closeSync, readSync, writeSync} from 'node:fs';
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

	launch({file, argv}: Pick<SpawnRequest, 'file' | 'argv'>, {firstFd, spawn, prepare}: LaunchSteps): number {
		const {near, far} = this.#openChannel(file);
		try {
			const pid = spawnAndClose(far, () =>
				spawn({
					file: `/proc/self/fd/${firstFd + 1}`,
					argv: [String.fromCharCode(firstFd), file, ...argv],
					descriptors: [far, this.#executable],
				}),
			);
			try {
				prepare(pid);
				writeSync(near, 'x');
				const errno = readErrno(near);
				if (errno !== 0) throw spawnError(errno, file);
			} catch (error) {
				this.#discard(pid);
				throw error;
			}
			return pid;
		} finally {
			closeSync(near);
		}
	}

	/** The child is the launcher still, or has exited: nothing of the program has run. */
	#discard(pid: number): void {
		try {
			process.kill(pid, 'SIGKILL');
		} catch {}
		this.#libc.waitpid(pid, [0], 0);
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

/** Blocks until the launcher has become the program, as `posix_spawn` itself does; 0 if it has. */
function readErrno(channel: number): number {
	const errno = Buffer.alloc(ERRNO_BYTES);
	return readSync(channel, errno) === ERRNO_BYTES ? -errno.readInt32LE() : 0;
}

function notSupportedError(reason: string): LongarmError {
	return new LongarmError('NOT_SUPPORTED', {message: `limits of children cannot be set before they run: ${reason}`});
}
