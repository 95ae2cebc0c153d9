import {existsSync, readFileSync} from 'node:fs';
import {createServer} from 'node:net';
import type {Environment} from '../../../environments/environment.js';
import {loadLibc} from '../../../processes/backends/linux/libc.js';
import {listEnforcers} from '../../../sandbox/select-enforcer.js';
import {errorMessage} from '../../../shared/errors.js';
import {isWritable} from '../../../shared/node/access.js';
import {openEnvironment} from '../../common/environments.js';

/** `limited` works, but less well than it could; `missing` does not work at all. */
export type Status = 'ok' | 'limited' | 'missing';

export interface DoctorFinding {
	readonly check: string;
	readonly status: Status;
	readonly detail: string;
	/** The command that would mend it. */
	readonly fix?: string;
}

type Check = () => Promise<Omit<DoctorFinding, 'check'>>;

const MIN_FILES = 4096;
const MIN_PROCESSES = 1024;
const MIN_WATCHES = 65_536;

/** Abilities of a server on this machine, each tried out where trying costs nothing. */
export const CHECKS: Readonly<Record<string, Check>> = {
	node: async () => ({status: 'ok', detail: `${process.version} on ${process.platform} ${process.arch}`}),

	'loopback listener': async () => {
		const server = createServer();
		await new Promise<void>((resolve, reject) => {
			server.once('error', reject).listen(0, '127.0.0.1', resolve);
		});
		server.close();
		return {status: 'ok', detail: 'a port on 127.0.0.1 can be listened on'};
	},

	'native spawner': async () =>
		loadLibc()
			? {status: 'ok', detail: 'children are started by posix_spawn of the C library'}
			: {
					status: 'limited',
					detail: 'koffi cannot be loaded: children are started the slow way, sandboxes are refused',
					fix: 'npm install koffi',
				},

	'processes on pipes': async () => {
		const {stdout} = await useThisMachine(machine => machine.run(['/bin/sh', '-c', 'echo works']));
		return {status: 'ok', detail: `sh on pipes ${stdout.text.trim()}`};
	},

	terminals: async () => {
		const {stdout} = await useThisMachine(machine => machine.run(['/bin/sh', '-c', 'tty'], {tty: true}));
		return {status: 'ok', detail: `a program got ${stdout.text.trim()}`};
	},

	sandbox: async () => {
		const all = listEnforcers('auto').map(each => ({each, problem: each.findProblem()}));
		const [used, ...others] = all.filter(({problem}) => problem === undefined).map(({each}) => each);
		const failures = all.flatMap(({each, problem}) => (problem === undefined ? [] : [`${each.name}: ${problem}`]));
		if (!used)
			return {status: 'missing', detail: `${failures.join('; ')}: sandboxed work is refused`, fix: bubblewrapFix()};
		const more = others.length === 0 ? '' : `; ${others.map(({name}) => name).join(' and ')} would do, too`;
		const detail = `enforced by ${used.name} (${used.describe()})${more}`;
		if (used.name !== 'landlock') return {status: 'ok', detail};
		const lacking = `${detail}, which refuses many policies; ${failures.join('; ')}`;
		return {status: 'limited', detail: lacking, fix: bubblewrapFix()};
	},

	'user namespaces': async () => {
		if (process.geteuid?.() === 0) return {status: 'ok', detail: 'not needed: this user is root'};
		const barrier = NAMESPACE_BARRIERS.find(({file, value}) => readIfExists(file) === value);
		if (!barrier) return {status: 'ok', detail: 'ordinary users may make them'};
		const {file, fix} = barrier;
		return {status: 'missing', detail: `${file} says ${barrier.value}: no sandbox but Landlock's for this user`, fix};
	},

	'control groups': async () => {
		const group = /^0::(.*)$/m.exec(readIfExists('/proc/self/cgroup') ?? '')?.[1];
		const controllers = group === undefined ? undefined : readIfExists(`/sys/fs/cgroup${group}/cgroup.controllers`);
		const fix = 'systemd-run --user --scope -p Delegate=yes longarm serve';
		if (controllers === undefined) {
			const boot = 'boot with systemd.unified_cgroup_hierarchy=1';
			return {status: 'limited', detail: 'no version 2 here: limits hold for each process, not for all', fix: boot};
		}
		const isOurs = isWritable(`/sys/fs/cgroup${group}/cgroup.procs`) && /memory/.test(controllers);
		return isOurs
			? {status: 'ok', detail: `${controllers} in /sys/fs/cgroup${group}`}
			: {status: 'limited', detail: `/sys/fs/cgroup${group} is not handed over to this user`, fix};
	},

	'open files': async () => {
		const limit = readLimit('Max open files');
		const detail = `${limit} for one program`;
		return limit >= MIN_FILES
			? {status: 'ok', detail}
			: {status: 'limited', detail: `${detail}: about ${Math.floor(limit / 4)} processes`, fix: 'ulimit -n 65536'};
	},

	processes: async () => {
		const limit = readLimit('Max processes');
		const detail = `${limit} for this user`;
		return limit >= MIN_PROCESSES ? {status: 'ok', detail} : {status: 'limited', detail, fix: 'ulimit -u 16384'};
	},

	'file watches': async () => {
		const limit = Number(readIfExists('/proc/sys/fs/inotify/max_user_watches') ?? Number.NaN);
		if (Number.isNaN(limit)) return {status: 'ok', detail: 'as the system allows'};
		const detail = `${limit} directories for this user`;
		return limit >= MIN_WATCHES
			? {status: 'ok', detail}
			: {status: 'limited', detail, fix: 'sysctl fs.inotify.max_user_watches=524288'};
	},
};

const NAMESPACE_BARRIERS = [
	{file: '/proc/sys/user/max_user_namespaces', value: '0', fix: 'sysctl user.max_user_namespaces=15000'},
	{file: '/proc/sys/kernel/unprivileged_userns_clone', value: '0', fix: 'sysctl kernel.unprivileged_userns_clone=1'},
	{
		file: '/proc/sys/kernel/apparmor_restrict_unprivileged_userns',
		value: '1',
		fix: 'sysctl kernel.apparmor_restrict_unprivileged_userns=0',
	},
];

/** Runs all checks; an error a check throws is its finding. */
export async function runDoctorChecks(): Promise<DoctorFinding[]> {
	const findings: DoctorFinding[] = [];
	for (const [check, look] of Object.entries(CHECKS)) findings.push({check, ...(await runCheck(look))});
	return findings;
}

async function runCheck(look: Check): Promise<Omit<DoctorFinding, 'check'>> {
	try {
		return await look();
	} catch (error) {
		return {status: 'missing', detail: errorMessage(error)};
	}
}

async function useThisMachine<T>(use: (machine: Environment) => Promise<T>): Promise<T> {
	const machine = await openEnvironment();
	try {
		return await use(machine);
	} finally {
		await machine.close();
	}
}

function bubblewrapFix(): string {
	const managers = [
		['/usr/bin/apt-get', 'apt-get install bubblewrap'],
		['/usr/bin/dnf', 'dnf install bubblewrap'],
		['/sbin/apk', 'apk add bubblewrap'],
		['/usr/bin/pacman', 'pacman -S bubblewrap'],
	] as const;
	return managers.find(([file]) => existsSync(file))?.[1] ?? 'install bubblewrap';
}

function readLimit(name: string): number {
	const [, soft = ''] = new RegExp(`^${name}\\s+(\\S+)`, 'm').exec(readIfExists('/proc/self/limits') ?? '') ?? [];
	return soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft);
}

function readIfExists(file: string): string | undefined {
	try {
		return readFileSync(file, 'latin1').trim();
	} catch {
		return undefined;
	}
}
