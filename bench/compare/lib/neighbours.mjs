import {readProc, treeOf} from '../../lib/proc.mjs';

/** USER_HZ: clock ticks per second, the same on every Linux. */
const TICKS_PER_SECOND = 100;
/** Fields of the first line of /proc/stat behind its name. */
const CPU = {user: 0, nice: 1, system: 2, irq: 5, softirq: 6, steal: 7};
/** Fields of /proc/PID/stat behind the name of the program: own and waited-for children's user and system ticks. */
const [FIRST_TICKS, BEHIND_TICKS] = [11, 15];

/**
 * Processor time that other programs took while something was measured: what the machine was busy with, less what this
 * process, everything below it and all they have waited for used. Interrupts count as others', which is a few percent.
 */
export class NeighbourWatch {
	#began = performance.now();
	#machine = machineTicks();
	#own = ownTicks();

	/** Cores used by others, and cores that the host of a virtual machine took away, on average. */
	stop() {
		const ticks = ((performance.now() - this.#began) / 1000) * TICKS_PER_SECOND;
		const {busy, stolen} = machineTicks();
		const others = busy - this.#machine.busy - (ownTicks() - this.#own);
		return {others: Math.max(0, others / ticks), stolen: (stolen - this.#machine.stolen) / ticks};
	}
}

function machineTicks() {
	const fields = readProc('stat').split('\n', 1)[0].trim().split(/\s+/).slice(1).map(Number);
	const busy = ['user', 'nice', 'system', 'irq', 'softirq'].reduce((sum, name) => sum + fields[CPU[name]], 0);
	return {busy, stolen: fields[CPU.steal] ?? 0};
}

function ownTicks() {
	return treeOf(process.pid).reduce((sum, pid) => sum + ticksOf(pid), 0);
}

function ticksOf(pid) {
	const stat = readProc(`${pid}/stat`);
	const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
	return fields.slice(FIRST_TICKS, BEHIND_TICKS).reduce((sum, ticks) => sum + (Number(ticks) || 0), 0);
}
