import {readdirSync, readFileSync, readlinkSync} from 'node:fs';

const MiB = 1024 * 1024;
const PAGE_BYTES = 4096;
/** Clock ticks per second; Linux has said 100 to programs for ever. */
export const TICKS_PER_SECOND = 100;
/** Stands in the arguments of the process that cleans up behind a server that was killed. */
export const WATCHDOG = 'longarm-watchdog';

/** Resident MiB, open descriptors, and children of a server, zombies included and its watchdog left out. */
export function observe(pid) {
	const fds = readdirSync(`/proc/${pid}/fd`).filter(fd => tryTo(() => readlinkSync(`/proc/${pid}/fd/${fd}`))).length;
	return {rss: rssOf(pid), fds, children: childrenOf(pid).filter(child => !isWatchdog(child)).length};
}

/** Resident MiB. */
export function rssOf(pid) {
	return Math.round((Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * PAGE_BYTES) / MiB);
}

/** Ticks of processor time a process has used, in its own code and in the kernel's. */
export function ticksOf(pid) {
	const fields = statOf(pid);
	return Number(fields[11]) + Number(fields[12]);
}

export function childrenOf(pid) {
	const threads = tryTo(() => readdirSync(`/proc/${pid}/task`)) ?? [];
	return threads.flatMap(thread => {
		const list = tryTo(() => readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8')) ?? '';
		return list.split(' ').filter(Boolean).map(Number);
	});
}

export function isWatchdog(pid) {
	return commandOf(pid).includes(WATCHDOG);
}

/** The session a process is in; undefined when it is gone. */
export function sessionOf(pid) {
	return Number(tryTo(() => statOf(pid)[3])) || undefined;
}

/** The arguments with spaces between them; empty for a zombie and for who is gone. */
export function commandOf(pid) {
	return (tryTo(() => readFileSync(`/proc/${pid}/cmdline`, 'latin1')) ?? '').replaceAll('\0', ' ').trim();
}

/** Every process of the machine that is neither gone nor a zombie and that the test picks. */
export function livingProcesses(test) {
	return readdirSync('/proc')
		.filter(name => /^\d+$/.test(name))
		.map(name => ({pid: Number(name), command: commandOf(name)}))
		.filter(each => each.command !== '' && test(each));
}

/** Whose arguments hold the text. */
export function livingWith(text) {
	return livingProcesses(({command}) => command.includes(text));
}

/** The fields of `/proc/PID/stat` from the state on. */
function statOf(pid) {
	const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
	return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

/** Undefined for what cannot be read, which here always means that the process has ended meanwhile. */
export function tryTo(read) {
	try {
		return read();
	} catch {
		return undefined;
	}
}
