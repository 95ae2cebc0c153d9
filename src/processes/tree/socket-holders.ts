// Linux only: reads /proc.
import {readdirSync, readlinkSync, statSync} from 'node:fs';
import {listProc, readProc} from './proc.js';

export interface SocketHolders {
	readonly pids: readonly number[];
	/** A process of the same user could not be looked into, and may be one as well. */
	readonly isIncomplete: boolean;
}

/** Processes of a user that have a descriptor of the socket with this inode. */
export function findSocketHolders(inode: string, userId: number): SocketHolders {
	const link = `socket:[${inode}]`;
	const pids: number[] = [];
	let isIncomplete = false;
	for (const name of listProc('').filter(each => /^\d+$/.test(each))) {
		try {
			if (holds(name, link)) pids.push(Number(name));
		} catch (error) {
			// A process that is gone holds nothing.
			const isHidden = ['EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '');
			isIncomplete ||= isHidden && ownerOf(name) === userId;
		}
	}
	return {pids, isIncomplete};
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
