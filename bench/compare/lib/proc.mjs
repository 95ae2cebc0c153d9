// Processes seen through /proc.
import {readdirSync, readFileSync, readlinkSync} from 'node:fs';

/** USER_HZ on Linux. */
const TICKS_PER_SECOND = 100;
const LISTENING = '0A';

/** A number of /proc/PID/status: sizes in KiB, counts as they are; 0 when the process is gone. */
export function statusOf(pid, field) {
	try {
		const text = readFileSync(`/proc/${pid}/status`, 'latin1');
		return Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? 0);
	} catch {
		return 0;
	}
}

/** CPU seconds used so far, children not counted. */
export function cpuOf(pid) {
	const fields = statOf(pid);
	return fields ? (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND : 0;
}

/** Rules out a pid that is in use again. */
export function startTimeOf(pid) {
	return statOf(pid)?.[19];
}

/** The fields behind the name of the program. */
function statOf(pid) {
	try {
		const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
		return text.slice(text.lastIndexOf(')') + 2).split(' ');
	} catch {
		return undefined;
	}
}

export function executableOf(pid) {
	try {
		return readlinkSync(`/proc/${pid}/exe`);
	} catch {
		return undefined;
	}
}

/** Number of open descriptors. */
export function descriptorsOf(pid) {
	try {
		return readdirSync(`/proc/${pid}/fd`).length;
	} catch {
		return 0;
	}
}

export function childrenOf(pid) {
	try {
		return readdirSync(`/proc/${pid}/task`).flatMap(task => {
			const text = readFileSync(`/proc/${pid}/task/${task}/children`, 'latin1').trim();
			return text ? text.split(/\s+/).map(Number) : [];
		});
	} catch {
		return [];
	}
}

/** The process and all its descendants. */
export function treeOf(pid) {
	const tree = [pid];
	for (const each of tree) tree.push(...childrenOf(each));
	return tree;
}

/** The process that listens on the port of the address; `undefined` when none of ours does. */
export function listenerOf(url) {
	const sockets = listeningSockets(Number(new URL(url).port));
	if (sockets.size === 0) return undefined;
	return readdirSync('/proc')
		.filter(name => /^\d+$/.test(name))
		.map(Number)
		.find(pid => holdsOneOf(pid, sockets));
}

function listeningSockets(port) {
	const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
	const sockets = new Set();
	for (const file of ['/proc/net/tcp', '/proc/net/tcp6']) {
		for (const line of readOrNothing(file).split('\n').slice(1)) {
			const [, local, , state, , , , , , inode] = line.trim().split(/\s+/);
			if (state === LISTENING && local?.endsWith(suffix)) sockets.add(`socket:[${inode}]`);
		}
	}
	return sockets;
}

function readOrNothing(file) {
	try {
		return readFileSync(file, 'latin1');
	} catch {
		return '';
	}
}

function holdsOneOf(pid, sockets) {
	try {
		return readdirSync(`/proc/${pid}/fd`).some(descriptor =>
			sockets.has(readlinkSync(`/proc/${pid}/fd/${descriptor}`)),
		);
	} catch {
		// The process is gone, or another user's.
		return false;
	}
}
