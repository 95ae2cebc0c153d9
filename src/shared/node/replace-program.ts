// Linux only: execve and fcntl, through koffi.
import {constants} from 'node:os';
import {loadKoffi} from './koffi.js';

const F_GETFD = 1;
const F_SETFD = 2;
const FD_CLOEXEC = 1;
/** Closed in other programs, too, once Node has opened them. */
const STANDARD_STREAMS = [0, 1, 2];

/** Would end a program that has no handlers yet. The next one has no use for them either: it reads everything anew. */
const HARMLESS_SIGNALS = [constants.signals.SIGHUP, constants.signals.SIGUSR1, constants.signals.SIGUSR2];
/** Size of `struct sigaction`, rounded up; its handler comes first. */
const ACTION_BYTES = 256;
const SIG_IGN = 1n;

interface Calls {
	fcntl(fd: number, command: number, argument: number): number;
	execve(file: string, argv: (string | null)[], environment: (string | null)[]): number;
	sigaction(signal: number, action: Uint8Array, before: Uint8Array | null): number;
	errno(): number;
}

export interface NextProgram {
	readonly file: string;
	/** Its own name first. */
	readonly argv: readonly string[];
	readonly environment: Readonly<Record<string, string | undefined>>;
	/** Stay open in it, beside the standard streams. */
	readonly descriptors: Iterable<number>;
}

/**
 * Makes this process another program: same pid, same children, nothing of the present program goes on. Returns only if the
 * system refuses, with `errno`; everything is as before then.
 */
export function replaceProgram({file, argv, environment, descriptors}: NextProgram): number {
	const calls = loadCalls();
	const opened = [...STANDARD_STREAMS, ...descriptors].filter(fd => {
		const flags = calls.fcntl(fd, F_GETFD, 0);
		return flags >= 0 && (flags & FD_CLOEXEC) !== 0 && calls.fcntl(fd, F_SETFD, flags & ~FD_CLOEXEC) === 0;
	});
	const variables = Object.entries(environment).flatMap(([name, value]) =>
		value === undefined ? [] : [`${name}=${value}`],
	);
	const restoreSignals = ignoreSignals(calls);
	calls.execve(file, [...argv, null], [...variables, null]);
	const errno = calls.errno();
	restoreSignals();
	for (const fd of opened) calls.fcntl(fd, F_SETFD, FD_CLOEXEC);
	return errno;
}

/** An ignored signal is ignored in the next program, too, until the runtime resets all of them early in its start. */
function ignoreSignals(calls: Calls): () => void {
	const ignore = Buffer.alloc(ACTION_BYTES);
	ignore.writeBigUInt64LE(SIG_IGN);
	const changed = HARMLESS_SIGNALS.map(signal => {
		const before = Buffer.alloc(ACTION_BYTES);
		calls.sigaction(signal, ignore, before);
		return {signal, before};
	});
	return () => {
		for (const {signal, before} of changed) calls.sigaction(signal, before, null);
	};
}

/** Programs that are started from now on do not get the descriptor. False if there is no such descriptor. */
export function keepFromPrograms(fd: number): boolean {
	return loadCalls().fcntl(fd, F_SETFD, FD_CLOEXEC) === 0;
}

let loaded: Calls | undefined;

function loadCalls(): Calls {
	if (loaded) return loaded;
	const koffi = loadKoffi();
	const library = koffi.load(null);
	loaded = {
		fcntl: library.func('int fcntl(int fd, int command, long argument)') as Calls['fcntl'],
		execve: library.func(
			'int execve(const char *file, const char **argv, const char **environment)',
		) as Calls['execve'],
		sigaction: library.func('int sigaction(int signal, void *action, void *before)') as Calls['sigaction'],
		errno: () => koffi.errno(),
	};
	return loaded;
}
