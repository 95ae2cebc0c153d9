import fs, {type Dirent, type Stats} from 'node:fs';
import {promisify} from 'node:util';
import {type BytePath, toSystem} from './byte-path.js';
import {mayHang} from './mounts.js';

type Awaitable<T> = T | Promise<T>;

/** The calls of the operating system this layer is made of; awaited, whether they were done at once or elsewhere. */
export interface FileCalls {
	open(path: BytePath, flags: number, mode?: number): Awaitable<number>;
	close(fd: number): Awaitable<void>;
	stat(path: BytePath): Awaitable<Stats>;
	lstat(path: BytePath): Awaitable<Stats>;
	fstat(fd: number): Awaitable<Stats>;
	read(fd: number, target: Uint8Array, position: number): Awaitable<number>;
	write(fd: number, source: Uint8Array, position: number | null): Awaitable<number>;
	truncate(fd: number, length: number): Awaitable<void>;
	sync(fd: number): Awaitable<void>;
	chmod(fd: number, mode: number): Awaitable<void>;
	chown(fd: number, uid: number, gid: number): Awaitable<void>;
	access(path: BytePath, mode: number): Awaitable<void>;
	mkdir(path: BytePath, mode?: number): Awaitable<void>;
	rmdir(path: BytePath): Awaitable<void>;
	unlink(path: BytePath): Awaitable<void>;
	rename(from: BytePath, to: BytePath): Awaitable<void>;
	link(existing: BytePath, path: BytePath): Awaitable<void>;
	symlink(target: string, path: BytePath): Awaitable<void>;
	readlink(path: BytePath): Awaitable<string>;
	realpath(path: BytePath): Awaitable<BytePath>;
	/** Names are bytes, as in a path. */
	readdir(path: BytePath): Awaitable<Dirent[]>;
}

/** Done here and now: a fraction of the time of a trip to another thread, for what never takes long. */
export const syncCalls: FileCalls = {
	open: (path, flags, mode) => fs.openSync(toSystem(path), flags, mode),
	close: fd => fs.closeSync(fd),
	stat: path => fs.statSync(toSystem(path)),
	lstat: path => fs.lstatSync(toSystem(path)),
	fstat: fd => fs.fstatSync(fd),
	read: (fd, target, position) => fs.readSync(fd, target, 0, target.length, position),
	write: (fd, source, position) => fs.writeSync(fd, source, 0, source.length, position),
	truncate: (fd, length) => fs.ftruncateSync(fd, length),
	sync: fd => fs.fsyncSync(fd),
	chmod: (fd, mode) => fs.fchmodSync(fd, mode),
	chown: (fd, uid, gid) => fs.fchownSync(fd, uid, gid),
	access: (path, mode) => fs.accessSync(toSystem(path), mode),
	mkdir: (path, mode) => fs.mkdirSync(toSystem(path), mode),
	rmdir: path => fs.rmdirSync(toSystem(path)),
	unlink: path => fs.unlinkSync(toSystem(path)),
	rename: (from, to) => fs.renameSync(toSystem(from), toSystem(to)),
	link: (existing, path) => fs.linkSync(toSystem(existing), toSystem(path)),
	symlink: (target, path) => fs.symlinkSync(Buffer.from(target, 'latin1'), toSystem(path)),
	readlink: path => fs.readlinkSync(toSystem(path), 'latin1'),
	realpath: path => fs.realpathSync.native(toSystem(path), 'latin1') as BytePath,
	readdir: path => fs.readdirSync(toSystem(path), {withFileTypes: true, encoding: 'latin1'}),
};

const open = promisify<fs.PathLike, number, number | undefined, number>(fs.open);
const close = promisify(fs.close);
const stat = promisify<fs.PathLike, Stats>(fs.stat);
const lstat = promisify<fs.PathLike, Stats>(fs.lstat);
const fstat = promisify<number, Stats>(fs.fstat);
const mkdir = promisify<fs.PathLike, number | undefined, void>((path, mode, done) => fs.mkdir(path, mode, done));
const readlink = promisify<fs.PathLike, BufferEncoding, string>(fs.readlink);
const realpath = promisify<fs.PathLike, BufferEncoding, string>(fs.realpath.native);

/** Done by another thread, so that a slow disk holds up nobody else. */
export const asyncCalls: FileCalls = {
	open: (path, flags, mode) => open(toSystem(path), flags, mode),
	close,
	stat: path => stat(toSystem(path)),
	lstat: path => lstat(toSystem(path)),
	fstat,
	read: (fd, target, position) =>
		new Promise((resolve, reject) => {
			fs.read(fd, target, 0, target.length, position, (error, length) => (error ? reject(error) : resolve(length)));
		}),
	write: (fd, source, position) =>
		new Promise((resolve, reject) => {
			fs.write(fd, source, 0, source.length, position, (error, length) => (error ? reject(error) : resolve(length)));
		}),
	truncate: promisify(fs.ftruncate),
	sync: promisify(fs.fsync),
	chmod: promisify(fs.fchmod),
	chown: promisify(fs.fchown),
	access: (path, mode) => fs.promises.access(toSystem(path), mode),
	mkdir: (path, mode) => mkdir(toSystem(path), mode),
	rmdir: path => fs.promises.rmdir(toSystem(path)),
	unlink: path => fs.promises.unlink(toSystem(path)),
	rename: (from, to) => fs.promises.rename(toSystem(from), toSystem(to)),
	link: (existing, path) => fs.promises.link(toSystem(existing), toSystem(path)),
	symlink: (target, path) => fs.promises.symlink(Buffer.from(target, 'latin1'), toSystem(path)),
	readlink: path => readlink(toSystem(path), 'latin1'),
	realpath: async path => (await realpath(toSystem(path), 'latin1')) as BytePath,
	readdir: path => fs.promises.readdir(toSystem(path), {withFileTypes: true, encoding: 'latin1'}),
};

/** For calls that a local disk answers at once; elsewhere they may take for ever, so another thread waits for them. */
export function preferredCalls(): FileCalls {
	return mayHang() ? asyncCalls : syncCalls;
}
