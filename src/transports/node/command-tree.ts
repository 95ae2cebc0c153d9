// Linux only: reads /proc. On other systems nothing is found, and a command's process group has to do.
import {readdirSync, readFileSync} from 'node:fs';

/** A process with its start time: the kernel reuses pids, but not both. */
export interface TreeMember {
	readonly pid: number;
	readonly startTime: string;
}

/** Every process below one, also those that left its group and session. */
export function listTreeMembers(root: number): TreeMember[] {
	const found: TreeMember[] = [];
	const queue = listChildPids(root);
	for (let pid = queue.shift(); pid !== undefined; pid = queue.shift()) {
		const startTime = readStartTime(pid);
		if (startTime !== undefined) found.push({pid, startTime});
		queue.push(...listChildPids(pid));
	}
	return found;
}

/** Signals those that are still there. */
export function signalTreeMembers(members: readonly TreeMember[], signal: NodeJS.Signals): void {
	for (const member of members) {
		if (!isStillThere(member)) continue;
		try {
			process.kill(member.pid, signal);
		} catch {
			// It has ended, or belongs to another user.
		}
	}
}

/** False for a later process that got the same pid. */
export function isStillThere({pid, startTime}: TreeMember): boolean {
	return readStartTime(pid) === startTime;
}

function listChildPids(pid: number): number[] {
	try {
		const threads = readdirSync(`/proc/${pid}/task`);
		return threads.flatMap(thread => splitNumbers(readFileSync(`/proc/${pid}/task/${thread}/children`, 'latin1')));
	} catch {
		return [];
	}
}

function splitNumbers(text: string): number[] {
	return text.split(' ').filter(Boolean).map(Number);
}

/** Undefined when the process is gone; a zombie counts as gone. */
function readStartTime(pid: number): string | undefined {
	try {
		const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
		// The name stands in parentheses and may hold any character; the state follows it, the time is the 20th field.
		const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
		return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19];
	} catch {
		return undefined;
	}
}
