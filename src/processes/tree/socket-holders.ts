// Linux only: reads /proc.
import {readdirSync, readlinkSync, statSync} from 'node:fs';
import {listProc, readProc} from './proc.js';

export interface SocketHolders {
	readonly pids: readonly number[];
	/** Processes of the same user that could not be looked into, and may be holders as well. */
	readonly hidden: readonly number[];
}

/** Processes of a user that have a descriptor of the socket with this inode; with `max`, the latest, so many. */
export function findSocketHolders(inode: string, userId: number, max = Number.POSITIVE_INFINITY): SocketHolders {
	const link = `socket:[${inode}]`;
	const pids: number[] = [];
	const hidden: number[] = [];
	for (const pid of listPids().sort((one, other) => other - one)) {
		try {
			if (holds(pid, link) && pids.push(pid) >= max) break;
		} catch (error) {
			// A process that is gone holds nothing.
			const isHidden = ['EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '');
			if (isHidden && ownerOf(pid) === userId) hidden.push(pid);
		}
	}
	return {pids, hidden};
}

/** All processes of this machine. */
export function listPids(): number[] {
	return listProc('')
		.filter(name => /^\d+$/.test(name))
		.map(Number);
}

function holds(pid: number, link: string): boolean {
	const directory = `/proc/${pid}/fd`;
	return readdirSync(directory).some(name => {
		try {
			return readlinkSync(`${directory}/${name}`) === link;
		} catch {
			return false;
		}
	});
}

/**
 * User a process acts for. The directory of a process that hides its memory belongs to root, so its status is read.
 */
function ownerOf(pid: number): number | undefined {
	try {
		const {uid} = statSync(`/proc/${pid}`);
		return uid === 0 ? readStatusUser(pid) : uid;
	} catch {
		return undefined;
	}
}

function readStatusUser(pid: number): number | undefined {
	const match = /^Uid:\s+\d+\s+(\d+)/m.exec(readProc(`${pid}/status`));
	return match ? Number(match[1]) : undefined;
}
