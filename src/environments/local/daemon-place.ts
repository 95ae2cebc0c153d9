import {createHash} from 'node:crypto';
import {lstatSync, mkdirSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {LongarmError} from '../../shared/errors.js';
import {stateHome} from '../../shared/node/state-home.js';
import type {ConfigVariables} from '../config/config-variables.js';

/** Longest path the kernel takes for a socket, without its final NUL byte. */
const MAX_SOCKET_PATH_BYTES = process.platform === 'linux' ? 107 : 103;
const DIRECTORY_MODE = 0o700;
const ACCESS_OF_OTHERS = 0o077;
/** Characters of a digest that tell state directories apart. */
const DIGEST_LENGTH = 12;

/** Files of the daemon of this user. */
export interface DaemonPlace {
	readonly directory: string;
	/** State of the daemon, in a directory of its own: a server takes none with files that it does not know. */
	readonly state: string;
	readonly socket: string;
	/** Its output, from all its lives. */
	readonly log: string;
}

/** Where the daemon of this user is: below `XDG_STATE_HOME`, else `~/.local/state`. Makes nothing. */
export function daemonPlaceOf(variables: ConfigVariables): DaemonPlace {
	const home = stateHome(variables);
	if (home === undefined) throw new LongarmError('STATE_UNUSABLE', {message: 'this user has no home directory'});
	const directory = join(home, 'local');
	return {
		directory,
		state: join(directory, 'state'),
		socket: socketOf(directory, variables),
		log: join(directory, 'serve.log'),
	};
}

/** Makes the directories of the daemon; throws if others could look into them, or put something there. */
export function prepareDaemonPlace({directory, socket}: DaemonPlace): void {
	for (const path of new Set([directory, dirname(socket)])) {
		mkdirSync(path, {recursive: true, mode: DIRECTORY_MODE});
		requirePrivate(path);
	}
}

/** Whether a directory is there that others cannot have put a socket into. */
export function isTrustedPlace({socket}: DaemonPlace): boolean {
	const stats = lstatSync(dirname(socket), {throwIfNoEntry: false});
	return stats !== undefined && isPrivate(stats);
}

/** Elsewhere if the path is too long: named by the directory, so that each has a daemon of its own. */
function socketOf(directory: string, variables: ConfigVariables): string {
	const socket = join(directory, 'serve.sock');
	if (Buffer.byteLength(socket) <= MAX_SOCKET_PATH_BYTES) return socket;
	const digest = createHash('sha256').update(directory).digest('hex').slice(0, DIGEST_LENGTH);
	const runtime = variables['XDG_RUNTIME_DIR'];
	const short = runtime ? join(runtime, `longarm-local-${digest}.sock`) : undefined;
	if (short !== undefined && Buffer.byteLength(short) <= MAX_SOCKET_PATH_BYTES) return short;
	return join(tmpdir(), `longarm-${process.geteuid?.() ?? 0}`, `local-${digest}.sock`);
}

function requirePrivate(path: string): void {
	if (isPrivate(lstatSync(path))) return;
	const message = `${path} cannot hold the state of the local daemon: it has to be a directory of this user with mode 0700`;
	throw new LongarmError('STATE_UNUSABLE', {message, context: {path}});
}

function isPrivate(stats: {isDirectory(): boolean; readonly uid: number; readonly mode: number}): boolean {
	return (
		stats.isDirectory() && stats.uid === (process.geteuid?.() ?? stats.uid) && (stats.mode & ACCESS_OF_OTHERS) === 0
	);
}
