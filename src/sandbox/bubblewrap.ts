import {
	type HeldPath,
	isMountWithin,
	type Mount,
	type SandboxedCommand,
	type SandboxPlan,
	unenforceableError,
} from './plan.js';

/** Descriptors from which bubblewrap reads the seccomp filter and the variables of the command. */
const FILTER_DESCRIPTOR = 3;
const VARIABLES_DESCRIPTOR = 4;
/** The first of the descriptors for hidden files; bubblewrap closes each after one use. Lower ones are taken by launchers. */
const FIRST_EMPTY_DESCRIPTOR = 16;
/** Bubblewrap refuses more arguments, those it reads from a descriptor included. */
const MAX_ARGUMENTS = 9000;

/** Own namespaces for everything but the network, no capabilities, no way to gain any, and death with the parent. */
const NAMESPACE_ARGUMENTS = [
	'--unshare-user',
	'--disable-userns',
	'--unshare-pid',
	'--unshare-ipc',
	'--unshare-uts',
	'--unshare-cgroup-try',
	'--die-with-parent',
	'--cap-drop',
	'ALL',
];

/** Kinds of mounts that show something of the host. */
const BOUND_KINDS: ReadonlySet<Mount['kind']> = new Set(['read', 'write', 'pin']);

/** Entries of /proc that control the kernel. Their mode alone lets root write to them, without any capability. */
export const READ_ONLY_PROC_ENTRIES = ['sys', 'irq', 'bus', 'fs', 'acpi', 'scsi'];

/**
 * Files of /proc that tell of memory, keys and timers of the whole machine, or control it. Their mode alone lets root read
 * them, without any capability.
 */
export const MASKED_PROC_FILES = [
	'kpageflags',
	'kpagecount',
	'kpagecgroup',
	'kcore',
	'kmsg',
	'keys',
	'key-users',
	'slabinfo',
	'vmallocinfo',
	'pagetypeinfo',
	'allocinfo',
	'iomem',
	'ioports',
	'mtrr',
	'timer_list',
	'timer_stats',
	'sched_debug',
	'latency_stats',
	'sysrq-trigger',
].map(name => `/proc/${name}`);

/** Facts about the machine: programs run inside the sandbox for features bubblewrap lacks, and files to be masked. */
export interface SandboxHelpers {
	/** Makes the terminal the controlling one of the program. */
	readonly setsid: string | undefined;
	/** Sets argv[0] of the program. */
	readonly bash: string | undefined;
	/** Of `MASKED_PROC_FILES` those this kernel has. */
	readonly maskedFiles: readonly string[];
	/** Whether bubblewrap mounts what a descriptor stands for, and checks that it did. */
	readonly bindsDescriptors: boolean;
}

/** Arguments for bubblewrap to run the command under the plan. */
export function bubblewrapArguments(plan: SandboxPlan, command: SandboxedCommand, helpers: SandboxHelpers): string[] {
	if (command.cwd === undefined) throw unenforceableError('the working directory is not UTF-8');
	return [
		'--args',
		String(VARIABLES_DESCRIPTOR),
		...NAMESPACE_ARGUMENTS,
		...(plan.network === 'none' ? ['--unshare-net'] : []),
		// Signals must reach the command only: bubblewrap itself would die of them. With a terminal, `setsid` does this.
		...(command.terminal ? [] : ['--new-session']),
		...mountViewArguments(plan, helpers),
		'--seccomp',
		String(FILTER_DESCRIPTOR),
		'--chdir',
		command.cwd,
		'--',
		...buildCommandLine(command, helpers),
	];
}

/**
 * Options that set the variables of the command, each followed by NUL. They are read from a descriptor, since the
 * arguments of a process can be read by every user.
 */
export function bubblewrapVariables({environment}: SandboxedCommand): Uint8Array {
	const words = ['--clearenv'];
	const set = new Set<string>();
	for (const [name, value] of environment) {
		// A C environment is a list of texts: the name of one ends at its first `=`, and the first of a name counts.
		const text = `${name}=${value}`;
		const end = text.indexOf('=');
		const own = text.slice(0, end);
		if (end === 0) throw unenforceableError('a variable without a name cannot be handed over');
		if (!set.has(own)) words.push('--setenv', own, text.slice(end + 1));
		set.add(own);
	}
	return Buffer.from(words.map(word => `${word}\0`).join(''));
}

/** Descriptors from which bubblewrap reads the contents of hidden files, which are empty. */
export function listEmptyDescriptors({mounts}: SandboxPlan): number[] {
	const hidden = mounts.filter(mount => mount.kind === 'hidden' && mount.fileType === 'file');
	return hidden.map((_, index) => FIRST_EMPTY_DESCRIPTOR + index);
}

/** Files and directories of the host that bubblewrap mounts by their descriptors, where it can. */
export function listHeldPaths(plan: SandboxPlan, {bindsDescriptors}: SandboxHelpers): HeldPath[] {
	if (!bindsDescriptors) return [];
	const first = FIRST_EMPTY_DESCRIPTOR + listEmptyDescriptors(plan).length;
	const shown = plan.mounts.filter(({kind, path}) => BOUND_KINDS.has(kind) && path !== '/');
	return shown.map(({path}, index) => ({fd: first + index, path}));
}

/** Refuses what bubblewrap would refuse when it already runs, as if the command had failed. */
export function requireFewArguments(argv: readonly string[], {environment}: SandboxedCommand): void {
	if (argv.length + 1 + 3 * environment.size > MAX_ARGUMENTS) {
		throw unenforceableError('there are too many arguments, variables and paths for bubblewrap');
	}
}

function mountViewArguments(plan: SandboxPlan, helpers: SandboxHelpers): string[] {
	const {maskedFiles} = helpers;
	const {mounts} = plan;
	const [first, ...others] = mounts;
	const descriptors = listEmptyDescriptors(plan).values();
	const held = new Map(listHeldPaths(plan, helpers).map(({fd, path}) => [path, fd]));
	const toArguments = (mount: Mount) => mountArguments(mount, mounts, descriptors, held);
	const hasRoot = first?.path === '/';
	return [
		...(hasRoot ? toArguments(first) : []),
		'--dev',
		'/dev',
		'--proc',
		'/proc',
		...READ_ONLY_PROC_ENTRIES.flatMap(name => ['--ro-bind-try', `/proc/${name}`, `/proc/${name}`]),
		...maskedFiles.flatMap(maskFile),
		...(hasRoot ? others : mounts).flatMap(toArguments),
		// Last, since mount points are created inside the hidden directories, too.
		...mounts.flatMap(mount =>
			mount.kind === 'hidden' && mount.fileType === 'directory' ? ['--remount-ro', mount.path] : [],
		),
		...(hasRoot ? [] : ['--remount-ro', '/']),
	];
}

function mountArguments(
	mount: Mount,
	all: readonly Mount[],
	descriptors: Iterator<number>,
	held: ReadonlyMap<string, number>,
): string[] {
	switch (mount.kind) {
		case 'read':
			return bindArguments('--ro-bind', mount.path, held);
		case 'write':
		case 'pin':
			return bindArguments('--bind', mount.path, held);
		case 'link':
			return ['--symlink', mount.to, mount.path];
		case 'private':
			return ['--perms', '1777', '--tmpfs', mount.path];
		case 'hidden':
			if (mount.fileType === 'file') {
				return ['--perms', '0000', '--ro-bind-data', String(descriptors.next().value), mount.path];
			}
			return ['--perms', containsMount(mount, all) ? '0111' : '0000', '--tmpfs', mount.path];
	}
}

function bindArguments(option: string, path: string, held: ReadonlyMap<string, number>): string[] {
	const fd = held.get(path);
	return fd === undefined ? [option, path, path] : [`${option}-fd`, String(fd), path];
}

/** A device on a mount without devices cannot be opened by any user. */
function maskFile(path: string): string[] {
	return ['--ro-bind', '/dev/null', path];
}

function containsMount(hidden: Mount, mounts: readonly Mount[]): boolean {
	return mounts.some(({path}) => path !== hidden.path && isMountWithin(path, hidden.path));
}

function buildCommandLine({program, args, arg0, terminal}: SandboxedCommand, {setsid, bash}: SandboxHelpers): string[] {
	const named = arg0 === undefined || arg0 === program ? [program, ...args] : execWithArg0(arg0, program, args, bash);
	if (!terminal) return named;
	if (setsid === undefined) throw unenforceableError('`setsid` is missing, which a terminal in a sandbox needs');
	return [setsid, '-c', ...named];
}

/** `-p` keeps the shell from reading start-up files named in the environment. */
function execWithArg0(arg0: string, program: string, args: readonly string[], bash: string | undefined): string[] {
	if (bash === undefined) throw unenforceableError('`bash` is missing, which another arg0 in a sandbox needs');
	return [bash, '-p', '-c', 'exec -a "$0" "$@"', arg0, program, ...args];
}
