// Searches of all processes of the machine, through /proc.
import {readdirSync, readlinkSync} from 'node:fs';
import {commandOf, readProc, tryTo} from './proc.mjs';

const LISTENING = '0A';

/** `{pid, command}` of every process that is neither gone nor a zombie and that the test picks. */
export function livingProcesses(test) {
	return allPids()
		.map(pid => ({pid, command: commandOf(pid)}))
		.filter(each => each.command !== '' && test(each));
}

/** Processes with the text in their arguments. */
export function livingWith(text) {
	return livingProcesses(({command}) => command.includes(text));
}

/** Pids of processes that were started with the text in their environment. */
export function pidsWithEnvironment(text) {
	return allPids().filter(pid => readProc(`${pid}/environ`).includes(text));
}

/** Pid of the process that listens on the port of the address; undefined when none of ours does. */
export function listenerOf(url) {
	const sockets = listeningSockets(Number(new URL(url).port));
	return sockets.size === 0 ? undefined : allPids().find(pid => holdsOneOf(pid, sockets));
}

function allPids() {
	return readdirSync('/proc')
		.filter(name => /^\d+$/.test(name))
		.map(Number);
}

function listeningSockets(port) {
	const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
	const sockets = new Set();
	for (const file of ['net/tcp', 'net/tcp6']) {
		for (const line of readProc(file).split('\n').slice(1)) {
			const [, local, , state, , , , , , inode] = line.trim().split(/\s+/);
			if (state === LISTENING && local?.endsWith(suffix)) sockets.add(`socket:[${inode}]`);
		}
	}
	return sockets;
}

/** False for processes of other users, whose descriptors cannot be read. */
function holdsOneOf(pid, sockets) {
	const names = tryTo(() => readdirSync(`/proc/${pid}/fd`)) ?? [];
	return names.some(fd => sockets.has(tryTo(() => readlinkSync(`/proc/${pid}/fd/${fd}`))));
}
