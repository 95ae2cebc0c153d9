/** Signals every process of the group that `pid` leads. A group that is gone already is no error: false. */
export function signalGroup(pid: number, name: NodeJS.Signals): boolean {
	return signal(-pid, name);
}

/** The same for the process alone. */
export function signalProcess(pid: number, name: NodeJS.Signals): boolean {
	return signal(pid, name);
}

function signal(target: number, name: NodeJS.Signals): boolean {
	try {
		return process.kill(target, name);
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
		throw error;
	}
}
