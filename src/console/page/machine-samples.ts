import type {Files} from '../../client/files/files.js';
import type {MachineLink} from './machine-link.js';

/** State of a machine at one moment; members are undefined where the system does not tell. */
export interface MachineSample {
	/** Seconds since 1970. */
	readonly at: number;
	/** Busy share of all processors, 0 to 100. */
	readonly cpu: number | null;
	readonly load: number | null;
	/** GiB in use. */
	readonly memory: number | null;
	readonly processes: number | null;
	/** KiB per second that processes of the server write. */
	readonly output: number | null;
}

interface Counters {
	readonly at: number;
	readonly busy: number | undefined;
	readonly total: number | undefined;
	readonly outputBytes: number;
}

const KIB = 1024;
const KIB_PER_GIB = 1024 * 1024;

/** Takes samples of a machine: of the kernel's files, and of the list of processes. */
export class MachineSampler {
	readonly #link: MachineLink;
	#before: Counters | undefined;

	constructor(link: MachineLink) {
		this.#link = link;
	}

	async take(): Promise<MachineSample> {
		const {files} = this.#link;
		const client = await this.#link.client();
		const [stat, meminfo, loadavg, processes] = await Promise.all([
			readText(files, '/proc/stat'),
			readText(files, '/proc/meminfo'),
			readText(files, '/proc/loadavg'),
			client.list({all: true}).catch(() => undefined),
		]);
		const outputBytes = (processes ?? []).reduce((sum, each) => sum + each.outputBytes, 0);
		const now = {at: performance.now(), ...readCpu(stat), outputBytes};
		const before = this.#before;
		this.#before = now;
		return {
			at: Date.now() / 1000,
			cpu: before ? toCpuShare(before, now) : null,
			load: loadavg === undefined ? null : Number(loadavg.split(' ', 1)[0]),
			memory: meminfo === undefined ? null : readMemory(meminfo),
			processes: processes ? processes.filter(({state}) => state === 'running').length : null,
			output: before ? Math.max(0, (outputBytes - before.outputBytes) / KIB / ((now.at - before.at) / 1000)) : null,
		};
	}
}

function readText(files: Files, path: string): Promise<string | undefined> {
	return files.readText(path).catch(() => undefined);
}

function readCpu(stat: string | undefined): Pick<Counters, 'busy' | 'total'> {
	const ticks = /^cpu\s+(.*)$/m
		.exec(stat ?? '')?.[1]
		?.trim()
		.split(/\s+/)
		.map(Number);
	if (!ticks) return {busy: undefined, total: undefined};
	// User, nice, system, idle, waiting for disks, interrupts, soft interrupts, stolen; the rest is part of these.
	const total = ticks.slice(0, 8).reduce((sum, value) => sum + value, 0);
	return {total, busy: total - (ticks[3] ?? 0) - (ticks[4] ?? 0)};
}

function toCpuShare(before: Counters, now: Counters): number | null {
	if (before.total === undefined || now.total === undefined || now.total === before.total) return null;
	return (100 * (now.busy! - before.busy!)) / (now.total - before.total);
}

function readMemory(meminfo: string): number | null {
	const read = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(meminfo)?.[1]);
	const used = read('MemTotal') - read('MemAvailable');
	return Number.isFinite(used) ? used / KIB_PER_GIB : null;
}
