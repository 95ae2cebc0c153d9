// Linux only: memfd_create.
import {closeSync, writevSync} from 'node:fs';
import {loadKoffi} from './koffi.js';

/** Functions of the C library that it takes. */
export interface MemoryFileCalls {
	memfdCreate(name: string, flags: number): number;
	fcntl(fd: number, command: number, argument: number): number;
	/** `errno` of the last call. */
	errno(): number;
}

export const F_DUPFD_CLOEXEC = 1030;
const MFD_CLOEXEC = 1;
const MFD_ALLOW_SEALING = 2;
const MFD_EXEC = 0x10;
const F_ADD_SEALS = 1033;
/** Pieces per call of the kernel; it takes no more than 1024. */
const MAX_PIECES = 512;
/** Neither seals nor size nor content may change from then on. */
const ALL_SEALS = 0xf;

export interface MemoryFileOptions {
	/** Lowest number its descriptor may have. */
	readonly minFd: number;
	readonly isExecutable?: boolean;
}

/** Opens a sealed file without a name that holds `content`, to be read from its beginning; throws the result of `toError`. */
export function openMemoryFile(
	libc: MemoryFileCalls,
	content: Uint8Array | readonly Uint8Array[],
	{minFd, isExecutable = false}: MemoryFileOptions,
	toError: (errno: number) => Error,
): number {
	const low = createMemoryFile(libc, isExecutable);
	if (low < 0) throw toError(libc.errno());
	try {
		const fd = libc.fcntl(low, F_DUPFD_CLOEXEC, minFd);
		if (fd < 0) throw toError(libc.errno());
		try {
			writePieces(fd, content instanceof Uint8Array ? [content] : content);
		} catch (error) {
			closeSync(fd);
			throw error;
		}
		libc.fcntl(fd, F_ADD_SEALS, ALL_SEALS);
		return fd;
	} finally {
		closeSync(low);
	}
}

/** By position: the reader shares the offset, which has to stay at the beginning. */
function writePieces(fd: number, pieces: readonly Uint8Array[]): void {
	let position = 0;
	for (let first = 0; first < pieces.length; first += MAX_PIECES) {
		let left = pieces.slice(first, first + MAX_PIECES).filter(({length}) => length > 0);
		while (left.length > 0) {
			let written = writevSync(fd, left, position);
			position += written;
			const whole = left.findIndex(({length}) => (written -= length) < 0);
			const cut = whole < 0 ? undefined : left[whole]!;
			left = cut ? [cut.subarray(cut.length + written), ...left.slice(whole + 1)] : [];
		}
	}
}

function createMemoryFile(libc: MemoryFileCalls, isExecutable: boolean): number {
	const flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	if (!isExecutable) return libc.memfdCreate('longarm', flags);
	// Kernels before 6.3 do not know the flag, and later ones may ask for it.
	const fd = libc.memfdCreate('longarm', flags | MFD_EXEC);
	return fd < 0 ? libc.memfdCreate('longarm', flags) : fd;
}

/** The functions alone, for code that needs nothing else of the C library. Throws where koffi cannot be loaded. */
export function loadMemoryFileCalls(): MemoryFileCalls {
	const koffi = loadKoffi();
	const library = koffi.load(null);
	return {
		memfdCreate: library.func(
			'int memfd_create(const char *name, unsigned int flags)',
		) as MemoryFileCalls['memfdCreate'],
		fcntl: library.func('int fcntl(int fd, int command, long argument)') as MemoryFileCalls['fcntl'],
		errno: () => koffi.errno(),
	};
}
