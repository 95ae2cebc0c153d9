import {readdirSync, readFileSync} from 'node:fs';
import {setTimeout as sleep} from 'node:timers/promises';

/** Resident MiB, open descriptors, and children of a process, zombies included. */
export function observe(pid) {
	const rss = Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024);
	const fds = readdirSync(`/proc/${pid}/fd`).length;
	return {rss, fds, children: childrenOf(pid).length};
}

export function childrenOf(pid) {
	return readdirSync(`/proc/${pid}/task`).flatMap(task =>
		readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean),
	);
}

/** Number, state and command line of a process, for people. */
export function describe(pid) {
	try {
		const state = /State:\t(.*)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1];
		return `${pid} ${state} ${readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').slice(0, 100)}`;
	} catch {
		return `${pid} gone`;
	}
}

/** Processes of the machine that were started with the token in their environment. */
export function processesOf(mark) {
	return readdirSync('/proc').filter(pid => {
		if (!/^\d+$/.test(pid)) return false;
		try {
			return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(mark);
		} catch {
			return false;
		}
	});
}

export async function eventually(probe, ms) {
	const deadline = performance.now() + ms;
	while (!(await probe())) {
		if (performance.now() > deadline) return false;
		await sleep(100);
	}
	return true;
}

/** Processor time a process has used, in seconds; the kernel counts it in hundredths. */
export function cpuSeconds(pid) {
	const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1).split(' ');
	return (Number(fields[11]) + Number(fields[12])) / 100;
}
