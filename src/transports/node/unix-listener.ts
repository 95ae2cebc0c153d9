import {chmodSync, lstatSync, mkdirSync, readlinkSync, realpathSync, statSync, unlinkSync} from 'node:fs';
import {connect, type Server} from 'node:net';
import {dirname, resolve as resolvePath} from 'node:path';
import {isMainThread} from 'node:worker_threads';
import {errorMessage, LongarmError} from '../../shared/errors.js';
import {type Listener, openListener} from './listener.js';
import type {ListenerOptions} from './listener-options.js';
import {descriptorOf} from './socket-descriptor.js';

const DIRECTORY_MODE = 0o700;
const SOCKET_MODE = 0o600;
/** Bits a new socket must not have. */
const SOCKET_UMASK = 0o177;
const WRITABLE_BY_OTHERS = 0o022;
const STICKY = 0o1000;

/**
 * Listens on a socket in the file system that only this user can open. Its directory is made if it is missing, and
 * refused where another user could put a socket of their own in its place. A socket that is left of a server that ended
 * is replaced, if it is ours and nothing answers there. The socket is removed when the listener closes.
 */
export async function listenOnUnixSocket<Pass = undefined>(
	options: ListenerOptions<Pass> & {readonly path: string},
): Promise<Listener> {
	const {path, listeningFd} = options;
	requireOwnDirectory(path);
	if (listeningFd === undefined) await removeStaleSocket(path);
	// The kernel tells of the end of a peer on the same machine: pings are for the ssh that may carry the socket.
	return openListener(
		{...options, peerTimes: {...options.peerTimes, peerTimeoutMs: 0}},
		{
			start: (server, listening) => {
				if (listeningFd !== undefined) {
					server.listen({fd: listeningFd}, listening);
					return;
				}
				listenPrivately(server, path, listening);
			},
			// The runtime removes a socket that it has made itself.
			...(listeningFd !== undefined && {listening: () => removeWhenClosed(path)}),
			urlOf: () => `unix:${path}`,
			describePeer: () => `unix:${path}`,
			refusePeer: socket => options.refuseLocalPeer?.({kind: 'unix', fd: descriptorOf(socket)}),
		},
	);
}

/** Listens on a socket that is made without the permissions of others, not deprived of them a moment later. */
export function listenPrivately(server: Server, path: string, listening: () => void): void {
	const umask = isMainThread ? process.umask(SOCKET_UMASK) : undefined;
	try {
		server.listen({path}, () => {
			chmodSync(path, SOCKET_MODE);
			listening();
		});
	} finally {
		if (umask !== undefined) process.umask(umask);
	}
}

/** Refuses a directory in which, or above which, another user can move things; links on the way there count. */
function requireOwnDirectory(path: string): void {
	const given = dirname(path);
	let directory: string;
	try {
		mkdirSync(given, {recursive: true, mode: DIRECTORY_MODE});
		directory = realpathSync(given);
	} catch (cause) {
		throw listenRefusedError(path, `cannot make its directory: ${errorMessage(cause)}`);
	}
	const {uid, mode} = statSync(directory);
	if (uid !== process.geteuid!()) throw listenRefusedError(path, `its directory ${directory} belongs to another user`);
	if ((mode & WRITABLE_BY_OTHERS) !== 0) {
		throw listenRefusedError(path, `its directory ${directory} is writable by others; use one of your own`);
	}
	requireFixedPath(given, path, new Set());
}

/** Refuses a path on which others could replace something: a directory, or a link, which is followed. */
function requireFixedPath(place: string, path: string, seen: Set<string>): void {
	if (seen.has(place)) return;
	seen.add(place);
	const above = dirname(place);
	if (above === place) return;
	requireFixedPath(above, path, seen);
	const entry = lstatSync(place);
	const parent = statSync(above);
	const isForeign = !isTrusted(entry.uid);
	if (
		isForeign ||
		!isTrusted(parent.uid) ||
		((parent.mode & WRITABLE_BY_OTHERS) !== 0 && (parent.mode & STICKY) === 0)
	) {
		const loose = isForeign ? place : above;
		throw listenRefusedError(
			path,
			`${loose} belongs to, or is writable by, others, who could put another socket there`,
		);
	}
	if (entry.isSymbolicLink()) requireFixedPath(resolvePath(realpathSync(above), readlinkSync(place)), path, seen);
}

/** Root, who owns the top of the tree under whatever id, may do anything anyway. */
function isTrusted(uid: number): boolean {
	return [process.geteuid!(), 0, statSync('/').uid].includes(uid);
}

async function removeStaleSocket(path: string): Promise<void> {
	const before = lstatSync(path, {throwIfNoEntry: false});
	if (!before) return;
	if (!before.isSocket()) throw listenRefusedError(path, 'something that is no socket is there already');
	if (before.uid !== process.geteuid!()) throw listenRefusedError(path, 'a socket of another user is there already');
	if (!(await isStale(path))) throw listenRefusedError(path, 'another server answers there already');
	const now = lstatSync(path, {throwIfNoEntry: false});
	// Another server may have replaced it meanwhile.
	if (now && now.ino === before.ino && now.ctimeMs === before.ctimeMs) unlinkSync(path);
}

/** The returned function removes the socket that is there now. */
function removeWhenClosed(path: string): () => void {
	const before = lstatSync(path, {throwIfNoEntry: false});
	return () => {
		const now = lstatSync(path, {throwIfNoEntry: false});
		if (before?.isSocket() && now?.ino === before.ino) unlinkSync(path);
	};
}

/** Whether nothing listens on the socket; in doubt it is in use. */
function isStale(path: string): Promise<boolean> {
	return new Promise(resolve => {
		const socket = connect({path});
		socket.once('connect', () => {
			socket.destroy();
			resolve(false);
		});
		socket.once('error', ({code}: NodeJS.ErrnoException) => resolve(code === 'ECONNREFUSED' || code === 'ENOENT'));
	});
}

function listenRefusedError(path: string, reason: string): LongarmError {
	return new LongarmError('LISTEN_REFUSED', {
		message: `refusing to listen on unix:${path}: ${reason}`,
		context: {path},
	});
}
