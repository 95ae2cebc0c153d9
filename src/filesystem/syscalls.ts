import fs, {type Dirent, type Stats} from 'node:fs';
import {promisify} from 'node:util';
import {mayHang} from '../shared/node/mounts.js';
import {type BytePath, toFsPath} from './byte-path.js';
import {judgeAndClose, mayBeProc, refuseOwnEntry} from './own-process.js';

const HALF_MICROSECOND = 5e-7;
/** Opens a reference to a file without opening it; Linux only, and missing from Node's constants. */
export const O_PATH = 0o10_000_000;
const O_PATH_OF_LINK = O_PATH | fs.constants.O_NOFOLLOW;

type Awaitable<T> = T | Promise<T>;

/**
 * System calls of this layer, awaited by the caller whether they are synchronous or not. Those that look at a file fail
 * with EACCES for one that shows this process itself, such as its environment in `/proc`: whatever is opened is looked at.
 */
export interface FileCalls {
	open(path: BytePath, flags: number, mode?: number): Awaitable<number>;
	close(fd: number): Awaitable<void>;
	stat(path: BytePath): Awaitable<Stats>;
	lstat(path: BytePath): Awaitable<Stats>;
	fstat(fd: number): Awaitable<Stats>;
	read(fd: number, target: Uint8Array, position: number): Awaitable<number>;
	write(fd: number, source: Uint8Array, position: number | null): Awaitable<number>;
	/** Writes several pieces behind each other; like `write` it may write less. */
	writev(fd: number, sources: readonly Uint8Array[], position: number | null): Awaitable<number>;
	truncate(fd: number, length: number): Awaitable<void>;
	sync(fd: number): Awaitable<void>;
	chmod(fd: number, mode: number): Awaitable<void>;
	chown(fd: number, uid: number, gid: number): Awaitable<void>;
	/** Sets the modification time of an open file or directory. */
	setTime(fd: number, mtimeMs: number): Awaitable<void>;
	/** Sets the modification time of a link itself. */
	setLinkTime(link: BytePath, mtimeMs: number): Awaitable<void>;
	access(path: BytePath, mode: number): Awaitable<void>;
	mkdir(path: BytePath, mode?: number): Awaitable<void>;
	rmdir(path: BytePath): Awaitable<void>;
	unlink(path: BytePath): Awaitable<void>;
	rename(from: BytePath, to: BytePath): Awaitable<void>;
	link(existing: BytePath, path: BytePath): Awaitable<void>;
	symlink(target: string, path: BytePath): Awaitable<void>;
	readlink(path: BytePath): Awaitable<string>;
	realpath(path: BytePath): Awaitable<BytePath>;
	/** Names are binary strings, as in a path. */
	readdir(path: BytePath): Awaitable<Dirent[]>;
}

/** The same calls, each of which has its result when it returns. */
export type SyncFileCalls = {
	readonly [Name in keyof FileCalls]: (
		...parameters: Parameters<FileCalls[Name]>
	) => Awaited<ReturnType<FileCalls[Name]>>;
};

/** Synchronous calls: a fraction of the time of a round trip to the thread pool, for calls that never take long. */
export const syncCalls: SyncFileCalls = {
	open: (path, flags, mode) => fs.openSync(toFsPath(path), flags, mode),
	close: fd => fs.closeSync(fd),
	stat: path => {
		const stats = fs.statSync(toFsPath(path));
		return mayBeProc(stats) ? judgeAndClose(fs.openSync(toFsPath(path), O_PATH)) : stats;
	},
	lstat: path => {
		const stats = fs.lstatSync(toFsPath(path));
		return mayBeProc(stats) ? judgeAndClose(fs.openSync(toFsPath(path), O_PATH_OF_LINK)) : stats;
	},
	fstat: fd => {
		const stats = fs.fstatSync(fd);
		refuseOwnEntry(fd, stats);
		return stats;
	},
	read: (fd, target, position) => fs.readSync(fd, target, 0, target.length, position),
	write: (fd, source, position) => fs.writeSync(fd, source, 0, source.length, position),
	writev: (fd, sources, position) => fs.writevSync(fd, sources, position ?? undefined),
	truncate: (fd, length) => fs.ftruncateSync(fd, length),
	sync: fd => fs.fsyncSync(fd),
	chmod: (fd, mode) => fs.fchmodSync(fd, mode),
	chown: (fd, uid, gid) => fs.fchownSync(fd, uid, gid),
	setTime: (fd, mtimeMs) => fs.futimesSync(fd, Date.now() / 1000, toSeconds(mtimeMs)),
	setLinkTime: (link, mtimeMs) => fs.lutimesSync(toFsPath(link), Date.now() / 1000, toSeconds(mtimeMs)),
	access: (path, mode) => fs.accessSync(toFsPath(path), mode),
	mkdir: (path, mode) => fs.mkdirSync(toFsPath(path), mode),
	rmdir: path => fs.rmdirSync(toFsPath(path)),
	unlink: path => fs.unlinkSync(toFsPath(path)),
	rename: (from, to) => fs.renameSync(toFsPath(from), toFsPath(to)),
	link: (existing, path) => fs.linkSync(toFsPath(existing), toFsPath(path)),
	symlink: (target, path) => fs.symlinkSync(Buffer.from(target, 'latin1'), toFsPath(path)),
	readlink: path => fs.readlinkSync(toFsPath(path), 'latin1'),
	realpath: path => fs.realpathSync.native(toFsPath(path), 'latin1') as BytePath,
	readdir: path => fs.readdirSync(toFsPath(path), {withFileTypes: true, encoding: 'latin1'}),
};

const open = promisify<fs.PathLike, number, number | undefined, number>(fs.open);
const close = promisify(fs.close);
const stat = promisify<fs.PathLike, Stats>(fs.stat);
const lstat = promisify<fs.PathLike, Stats>(fs.lstat);
const fstat = promisify<number, Stats>(fs.fstat);
const futimes = promisify(fs.futimes);
const mkdir = promisify<fs.PathLike, number | undefined, void>((path, mode, done) => fs.mkdir(path, mode, done));
const readlink = promisify<fs.PathLike, BufferEncoding, string>(fs.readlink);
const realpath = promisify<fs.PathLike, BufferEncoding, string>(fs.realpath.native);

/** Calls on the thread pool, so that a slow disk does not block the event loop. */
export const asyncCalls: FileCalls = {
	open: (path, flags, mode) => open(toFsPath(path), flags, mode),
	close,
	stat: async path => {
		const stats = await stat(toFsPath(path));
		return mayBeProc(stats) ? judgeAndClose(await open(toFsPath(path), O_PATH, undefined)) : stats;
	},
	lstat: async path => {
		const stats = await lstat(toFsPath(path));
		return mayBeProc(stats) ? judgeAndClose(await open(toFsPath(path), O_PATH_OF_LINK, undefined)) : stats;
	},
	fstat: async fd => {
		const stats = await fstat(fd);
		refuseOwnEntry(fd, stats);
		return stats;
	},
	read: (fd, target, position) =>
		new Promise((resolve, reject) => {
			fs.read(fd, target, 0, target.length, position, (error, length) => (error ? reject(error) : resolve(length)));
		}),
	write: (fd, source, position) =>
		new Promise((resolve, reject) => {
			fs.write(fd, source, 0, source.length, position, (error, length) => (error ? reject(error) : resolve(length)));
		}),
	writev: (fd, sources, position) =>
		new Promise((resolve, reject) => {
			fs.writev(fd, sources, position, (error, length) => (error ? reject(error) : resolve(length)));
		}),
	truncate: promisify(fs.ftruncate),
	sync: promisify(fs.fsync),
	chmod: promisify(fs.fchmod),
	chown: promisify(fs.fchown),
	setTime: (fd, mtimeMs) => futimes(fd, Date.now() / 1000, toSeconds(mtimeMs)),
	setLinkTime: (link, mtimeMs) => fs.promises.lutimes(toFsPath(link), Date.now() / 1000, toSeconds(mtimeMs)),
	access: (path, mode) => fs.promises.access(toFsPath(path), mode),
	mkdir: (path, mode) => mkdir(toFsPath(path), mode),
	rmdir: path => fs.promises.rmdir(toFsPath(path)),
	unlink: path => fs.promises.unlink(toFsPath(path)),
	rename: (from, to) => fs.promises.rename(toFsPath(from), toFsPath(to)),
	link: (existing, path) => fs.promises.link(toFsPath(existing), toFsPath(path)),
	symlink: (target, path) => fs.promises.symlink(Buffer.from(target, 'latin1'), toFsPath(path)),
	readlink: path => readlink(toFsPath(path), 'latin1'),
	realpath: async path => (await realpath(toFsPath(path), 'latin1')) as BytePath,
	readdir: path => fs.promises.readdir(toFsPath(path), {withFileTypes: true, encoding: 'latin1'}),
};

/** Synchronous calls, unless a remote file system is mounted, on which they could block for ever. */
export function preferredCalls(...paths: readonly BytePath[]): FileCalls {
	return mayHang() || paths.some(path => mayHang(path)) ? asyncCalls : syncCalls;
}

/** Times are passed as fractions of seconds and truncated to microseconds: half of one keeps milliseconds exact. */
function toSeconds(ms: number): number {
	return ms / 1000 + HALF_MICROSECOND;
}
