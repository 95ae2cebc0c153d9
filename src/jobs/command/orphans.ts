// Linux only: elsewhere no process is found.
import {listProc, readProc} from '../../processes/tree/proc.js';
import {readProcessInfo} from '../../processes/tree/process-tree.js';
import {signalProcess} from '../../processes/tree/signals.js';

/** Looks for killed processes before they are given up. */
const MAX_LOOKS = 500;
const LOOK_INTERVAL_MS = 10;

/**
 * Kills everything on this machine that was started with this variable, as a runner that was killed leaves it behind.
 * Settles with true when nothing of it is left.
 */
export async function killOrphans(variable: string, value: string): Promise<boolean> {
	for (let look = 0; look < MAX_LOOKS; look++) {
		const found = findProcesses(`${variable}=${value}`);
		if (found.length === 0) return true;
		for (const pid of found) signalProcess(pid, 'SIGKILL');
		await new Promise(resolve => setTimeout(resolve, LOOK_INTERVAL_MS));
	}
	return false;
}

function findProcesses(entry: string): number[] {
	const own = String(process.pid);
	return listNumbers()
		.filter(pid => pid !== own && hasEntry(pid, entry) && readProcessInfo(Number(pid)) !== undefined)
		.map(Number);
}

function listNumbers(): string[] {
	try {
		return listProc('').filter(name => /^\d+$/.test(name));
	} catch {
		return [];
	}
}

/** Processes of other users cannot be read, and are none of ours. */
function hasEntry(pid: string, entry: string): boolean {
	try {
		return `\0${readProc(`${pid}/environ`)}`.includes(`\0${entry}\0`);
	} catch {
		return false;
	}
}
