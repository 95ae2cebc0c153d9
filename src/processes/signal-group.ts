/** Signals every process of the group that `pid` leads. A group that is gone already is no error. */
export function signalGroup(pid: number, name: NodeJS.Signals): void {
	try {
		process.kill(-pid, name);
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
	}
}
