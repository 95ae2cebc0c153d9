// Linux only: reads /proc.
import {readdirSync, readlinkSync, statSync} from 'node:fs';
import {listProc, readProc} from './proc.js';

export interface SocketHolders {
	readonly pids: readonly number[];
	/** Processes of the same user that could not be looked into, and may be holders as well. */
	readonly hidden: readonly number[];
}

/** Processes of a user that have a descriptor of the socket with this inode. */
export function findSocketHolders(inode: string, userId: number): SocketHolders {
	const link = `socket:[${inode}]`;
	const pids: number[] = [];
	const hidden: number[] = [];
	for (const name of listProc('').filter(each => /^\d+$/.test(each))) {
		try {
			if (holds(name, link)) pids.push(Number(name));
		} catch (error) {
			// A process that is gone holds nothing.
			const isHidden = ['EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '');
			if (isHidden && ownerOf(name) === userId) hidden.push(Number(name));
		}
	}
	return {pids, hidden};
}

function holds(pid: string, link: string): boolean {
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
function ownerOf(pid: string): number | undefined {
	try {
		const {uid} = statSync(`/proc/${pid}`);
		return uid === 0 ? readStatusUser(pid) : uid;
	} catch {
		return undefined;
	}
}

function readStatusUser(pid: string): number | undefined {
	const match = /^Uid:\s+\d+\s+(\d+)/m.exec(readProc(`${pid}/status`));
	return match ? Number(match[1]) : undefined;
}
