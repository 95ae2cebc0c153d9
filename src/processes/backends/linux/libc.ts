// Linux only: signatures and constants of the 64-bit C library.
import {loadKoffi} from '../../../shared/node/koffi.js';

type Pointer = Uint8Array;
/** A `FILE *`. */
export type CFile = bigint;

/** C library functions for spawning and reaping children, and for the files of their output. */
export interface Libc {
	posixSpawn(
		pid: [number],
		file: string,
		actions: Pointer,
		attributes: Pointer,
		argv: (string | null)[],
		envp: (string | null)[],
	): number;
	actionsInit(actions: Pointer): number;
	actionsDestroy(actions: Pointer): number;
	actionsOpen(actions: Pointer, fd: number, path: string, flags: number, mode: number): number;
	actionsDup2(actions: Pointer, from: number, to: number): number;
	actionsChdir(actions: Pointer, path: Pointer): number;
	actionsClose(actions: Pointer, fd: number): number;
	actionsCloseFrom(actions: Pointer, fd: number): number;
	attributesInit(attributes: Pointer): number;
	attributesSetFlags(attributes: Pointer, flags: number): number;
	attributesSetSignalDefaults(attributes: Pointer, signals: Pointer): number;
	attributesSetSignalMask(attributes: Pointer, signals: Pointer): number;
	waitpid(pid: number, status: [number], options: number): number;
	waitid(idType: number, id: number, info: Pointer, options: number): number;
	ioctl(fd: number, request: number, argument: Pointer): number;
	pipe2(fds: [number, number], flags: number): number;
	fcntl(fd: number, command: number, argument: number): number;
	socketpair(domain: number, type: number, protocol: number, fds: [number, number]): number;
	setsockopt(fd: number, level: number, name: number, value: Pointer, length: number): number;
	/** `fds` is an array of `struct pollfd`. */
	poll(fds: Pointer, count: number, timeoutMs: number): number;
	memfdCreate(name: string, flags: number): number;
	read(fd: number, buffer: Pointer, length: number): number;
	getrlimit(resource: number, limit: Pointer): number;
	setrlimit(resource: number, limit: Pointer): number;
	/** Limits of another process; either pointer may be null. */
	prlimit(pid: number, resource: number, wanted: Pointer | null, present: Pointer | null): number;
	prctl(option: number, argument: number): number;
	fallocate(fd: number, mode: number, offset: number, length: number): number;
	flock(fd: number, operation: number): number;
	/** A buffered stream on the descriptor; null if there is no memory. */
	fdopen(fd: number, mode: string): CFile | null;
	setvbuf(file: CFile, buffer: null, mode: number, length: number): number;
	fclose(file: CFile): number;
	readonly fread: {
		/** Runs on a thread of the pool. The buffer must not be touched before the callback. */
		async(
			buffer: Pointer,
			size: number,
			count: number,
			file: CFile,
			callback: (error: Error | null, count: number | bigint) => void,
		): void;
	};
	/** `errno` of the last call. */
	errno(): number;
}

const SIGNATURES: Record<Exclude<keyof Libc, 'errno'>, string> = {
	posixSpawn:
		'int posix_spawn(_Out_ int *pid, const char *file, void *actions, void *attributes, const char **argv, const char **envp)',
	actionsInit: 'int posix_spawn_file_actions_init(void *actions)',
	actionsDestroy: 'int posix_spawn_file_actions_destroy(void *actions)',
	actionsOpen: 'int posix_spawn_file_actions_addopen(void *actions, int fd, const char *path, int flags, int mode)',
	actionsDup2: 'int posix_spawn_file_actions_adddup2(void *actions, int from, int to)',
	actionsChdir: 'int posix_spawn_file_actions_addchdir_np(void *actions, void *path)',
	actionsClose: 'int posix_spawn_file_actions_addclose(void *actions, int fd)',
	actionsCloseFrom: 'int posix_spawn_file_actions_addclosefrom_np(void *actions, int fd)',
	attributesInit: 'int posix_spawnattr_init(void *attributes)',
	attributesSetFlags: 'int posix_spawnattr_setflags(void *attributes, short flags)',
	attributesSetSignalDefaults: 'int posix_spawnattr_setsigdefault(void *attributes, void *signals)',
	attributesSetSignalMask: 'int posix_spawnattr_setsigmask(void *attributes, void *signals)',
	waitpid: 'int waitpid(int pid, _Out_ int *status, int options)',
	waitid: 'int waitid(int idType, int id, void *info, int options)',
	ioctl: 'int ioctl(int fd, unsigned long request, void *argument)',
	pipe2: 'int pipe2(_Out_ int *fds, int flags)',
	fcntl: 'int fcntl(int fd, int command, long argument)',
	socketpair: 'int socketpair(int domain, int type, int protocol, _Out_ int *fds)',
	setsockopt: 'int setsockopt(int fd, int level, int name, void *value, unsigned int length)',
	poll: 'int poll(void *fds, unsigned long count, int timeout)',
	memfdCreate: 'int memfd_create(const char *name, unsigned int flags)',
	getrlimit: 'int getrlimit(int resource, void *limit)',
	setrlimit: 'int setrlimit(int resource, void *limit)',
	prlimit: 'int prlimit64(int pid, int resource, void *wanted, void *present)',
	prctl: 'int prctl(int option, unsigned long argument)',
	fallocate: 'int fallocate(int fd, int mode, int64_t offset, int64_t length)',
	flock: 'int flock(int fd, int operation)',
	fdopen: 'void *fdopen(int fd, const char *mode)',
	setvbuf: 'int setvbuf(void *file, void *buffer, int mode, unsigned long length)',
	fclose: 'int fclose(void *file)',
	fread: 'unsigned long fread(void *buffer, unsigned long size, unsigned long count, void *file)',
	read: 'long read(int fd, void *buffer, unsigned long length)',
};

/** Undefined where koffi or one of the functions is missing (other systems, musl before closefrom). */
export function loadLibc(): Libc | undefined {
	if (process.platform !== 'linux') return undefined;
	try {
		const koffi = loadKoffi();
		const library = koffi.load(null);
		const functions = Object.entries(SIGNATURES).map(([name, signature]) => [name, library.func(signature)]);
		return {...Object.fromEntries(functions), errno: () => koffi.errno()} as Libc;
	} catch {
		return undefined;
	}
}
