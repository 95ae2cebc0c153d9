/**
 * Signals every process of the group that `pid` leads. A group that is gone already is no error: false. Nor is one of
 * which nobody may be signalled, because a program such as `sudo` made itself another user's.
 */
export function signalGroup(pid: number, name: NodeJS.Signals | 0): boolean {
	return signal(-pid, name);
}

/** The same for the process alone. */
export function signalProcess(pid: number, name: NodeJS.Signals): boolean {
	return signal(pid, name);
}

function signal(target: number, name: NodeJS.Signals | 0): boolean {
	try {
		return process.kill(target, name);
	} catch (error) {
		const {code} = error as NodeJS.ErrnoException;
		if (code === 'ESRCH' || code === 'EPERM') return false;
		throw error;
	}
}
