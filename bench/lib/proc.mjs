// Single processes seen through /proc. Readers give 0, an empty list or undefined for a process that is gone.
import {existsSync, readdirSync, readFileSync, readlinkSync} from 'node:fs';

/** USER_HZ: clock ticks per second, the same on every Linux. */
const TICKS_PER_SECOND = 100;
/** In the arguments of the process that cleans up behind a server that was killed. */
export const WATCHDOG = 'exec-server-watchdog';
/** Fields of /proc/PID/stat, counted from the state on. */
const STAT = {parent: 1, session: 3, userTicks: 11, systemTicks: 12, startTime: 19, startCode: 23, startStack: 25};

/**
 * Resident MiB, open descriptors, and children of a server, zombies included and its watchdog left out. Throws when the
 * server is gone: it would look like one that has given everything back.
 */
export function usageOf(pid) {
	if (!existsSync(`/proc/${pid}`)) throw new Error(`process ${pid} is gone`);
	const children = childrenOf(pid).filter(child => !isWatchdog(child)).length;
	return {rss: rssOf(pid), fds: descriptorsOf(pid), children};
}

/** Resident MiB. */
export function rssOf(pid) {
	return Math.round(statusOf(pid, 'VmRSS') / 1024);
}

/** A number of /proc/PID/status: sizes in KiB, counts as they are. */
export function statusOf(pid, field) {
	const text = readProc(`${pid}/status`);
	return Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? 0);
}

/** CPU seconds used so far, in the program and in the kernel, children not counted. */
export function cpuSecondsOf(pid) {
	const fields = statOf(pid);
	return (Number(fields[STAT.userTicks] ?? 0) + Number(fields[STAT.systemTicks] ?? 0)) / TICKS_PER_SECOND;
}

/** CPU seconds of each living thread by its id, to the nanosecond. */
export function threadSecondsOf(pid) {
	const threads = tryTo(() => readdirSync(`/proc/${pid}/task`)) ?? [];
	return new Map(
		threads.map(thread => [thread, Number.parseInt(readProc(`${pid}/task/${thread}/schedstat`), 10) / 1e9 || 0]),
	);
}

/** Rules out a pid that is in use again. */
export function startTimeOf(pid) {
	return statOf(pid)[STAT.startTime];
}

/** The session a process is in. */
export function sessionOf(pid) {
	return Number(statOf(pid)[STAT.session]) || undefined;
}

export function executableOf(pid) {
	return tryTo(() => readlinkSync(`/proc/${pid}/exe`));
}

/**
 * False for a child that is still the program of its parent. Between vfork and exec it is in the memory of the parent,
 * and all of that looks like its own.
 */
export function hasOwnProgram(pid) {
	return memoryLayoutOf(pid) !== memoryLayoutOf(Number(statOf(pid)[STAT.parent]));
}

/** Arguments, and where code and stack begin: every exec places them anew. */
function memoryLayoutOf(pid) {
	const fields = statOf(pid);
	return [fields[STAT.startCode], fields[STAT.startStack], commandOf(pid)].join(' ');
}

/** The arguments with spaces between them; empty for a zombie, too. */
export function commandOf(pid) {
	return readProc(`${pid}/cmdline`).replaceAll('\0', ' ').trim();
}

export function isWatchdog(pid) {
	return commandOf(pid).includes(WATCHDOG);
}

/** Number, state and command line of a process, for error messages. */
export function describeProcess(pid) {
	const state = /^State:\t(.*)/m.exec(readProc(`${pid}/status`))?.[1];
	return state === undefined ? `${pid} gone` : `${pid} ${state} ${commandOf(pid).slice(0, 100)}`;
}

/** Number of open descriptors, without those that are closed while they are counted. */
export function descriptorsOf(pid) {
	return openFilesOf(pid).length;
}

/** Open descriptors with the files, pipes and sockets behind them. */
export function openFilesOf(pid) {
	const descriptors = tryTo(() => readdirSync(`/proc/${pid}/fd`)) ?? [];
	const targets = descriptors.map(fd => [fd, tryTo(() => readlinkSync(`/proc/${pid}/fd/${fd}`))]);
	return targets.filter(([, target]) => target !== undefined).map(([fd, target]) => `${fd} ${target}`);
}

export function threadsOf(pid) {
	return tryTo(() => readdirSync(`/proc/${pid}/task`)) ?? [];
}

export function childrenOf(pid) {
	return threadsOf(pid).flatMap(thread =>
		readProc(`${pid}/task/${thread}/children`).split(/\s+/).filter(Boolean).map(Number),
	);
}

/** The process and all its descendants. */
export function treeOf(pid) {
	const tree = [pid];
	for (const each of tree) tree.push(...childrenOf(each));
	return tree;
}

/** Signals a process that may be gone. */
export function signalProcess(pid, signal) {
	tryTo(() => process.kill(pid, signal));
}

/** The text of a file below /proc; empty when it cannot be read. */
export function readProc(path) {
	return tryTo(() => readFileSync(`/proc/${path}`, 'latin1')) ?? '';
}

/** The result, or undefined when the call throws, which here means that the process or the file is gone. */
export function tryTo(call) {
	try {
		return call();
	} catch {
		return undefined;
	}
}

/** The fields of /proc/PID/stat from the state on, behind the name of the program. */
function statOf(pid) {
	const stat = readProc(`${pid}/stat`);
	return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}
