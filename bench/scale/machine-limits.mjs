import {readProc} from '../lib/proc.mjs';

/** Descriptors a server needs for itself, and processes that others on the machine may start meanwhile. */
const OWN_DESCRIPTORS = 100;
const OTHER_PROCESSES = 1000;

/**
 * How many of the wanted processes and connections this machine can hold, and the limits that stand in the way:
 * `{pipes, terminals, connections, bounds}`.
 * A process on pipes takes two descriptors, one on a terminal and a connection one each.
 */
export function fitToMachine({pipes, terminals, connections}) {
	const descriptors = limit('Max open files') - OWN_DESCRIPTORS;
	const processes = Math.min(limit('Max processes'), number('sys/kernel/pid_max')) - OTHER_PROCESSES;
	const ptys = number('sys/kernel/pty/max') - number('sys/kernel/pty/nr');
	const bounds = [];
	const shrink = (wanted, most, name) => {
		if (wanted > most) bounds.push(`${name} allows ${most} instead of ${wanted}`);
		return Math.max(0, Math.min(wanted, most));
	};
	const fit = {};
	fit.connections = shrink(connections, descriptors, 'connections: ulimit -n');
	fit.terminals = shrink(terminals, Math.min(ptys, processes, descriptors - fit.connections), 'terminals: pty/max');
	const left = Math.floor((descriptors - fit.connections - fit.terminals) / 2);
	fit.pipes = shrink(pipes, Math.min(left, processes - fit.terminals), 'pipes: ulimit -n or -u');
	return {...fit, bounds};
}

/** Our own hard limit, which Node makes the soft one for the server. */
function limit(name) {
	const line = readProc('self/limits').match(new RegExp(`^${name} +\\S+ +(\\S+)`, 'm'));
	return line[1] === 'unlimited' ? Number.POSITIVE_INFINITY : Number(line[1]);
}

function number(path) {
	return Number(readProc(path) || Number.POSITIVE_INFINITY);
}
