import {isMountWithin, type Mount, type SandboxPlan} from './plan.js';
import {unenforceable} from './refusals.js';
import type {SandboxedCommand} from './sandboxed-command.js';

/** The descriptor bubblewrap reads the filter from. */
const FILTER_DESCRIPTOR = 3;

/** Namespaces of its own for everything but the network, no capability, no way to get one, no life after its parent. */
const CONFINEMENT = [
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

/** Where the kernel can be told things. For root they are writable by their mode alone, without any capability. */
const KERNEL_CONTROLS = ['sys', 'sysrq-trigger', 'irq', 'bus', 'fs', 'acpi', 'scsi'];

/** Programs inside the sandbox that see to what bubblewrap does not. */
export interface Helpers {
	/** Gives the program a terminal to control. */
	readonly setsid: string | undefined;
	/** Gives the program another name. */
	readonly bash: string | undefined;
}

/** The arguments bubblewrap takes to run the command under the plan. */
export function bubblewrapArguments(plan: SandboxPlan, command: SandboxedCommand, helpers: Helpers): string[] {
	if (command.cwd === undefined) throw unenforceable('the working directory is not UTF-8');
	return [
		...CONFINEMENT,
		...(plan.network === 'none' ? ['--unshare-net'] : []),
		// Signals are for the command alone; bubblewrap itself would die of them. A terminal is given by `setsid`.
		...(command.terminal ? [] : ['--new-session']),
		...view(plan),
		'--seccomp',
		String(FILTER_DESCRIPTOR),
		'--chdir',
		command.cwd,
		'--',
		...words(command, helpers),
	];
}

function view({mounts}: SandboxPlan): string[] {
	const [first, ...others] = mounts;
	const hasRoot = first?.path === '/';
	return [
		...(hasRoot ? mountArguments(first, mounts) : []),
		'--dev',
		'/dev',
		'--proc',
		'/proc',
		...KERNEL_CONTROLS.flatMap(name => ['--ro-bind-try', `/proc/${name}`, `/proc/${name}`]),
		...(hasRoot ? others : mounts).flatMap(mount => mountArguments(mount, mounts)),
		// Only once everything stands in it: places to mount on are made in the hidden ones, too.
		...mounts.flatMap(mount =>
			mount.kind === 'hidden' && mount.of === 'directory' ? ['--remount-ro', mount.path] : [],
		),
		...(hasRoot ? [] : ['--remount-ro', '/']),
	];
}

function mountArguments(mount: Mount, all: readonly Mount[]): string[] {
	switch (mount.kind) {
		case 'read':
			return ['--ro-bind', mount.path, mount.path];
		case 'write':
			return ['--bind', mount.path, mount.path];
		case 'link':
			return ['--symlink', mount.to, mount.path];
		case 'hidden':
			// A device on a mount that knows no devices cannot be opened by anybody.
			if (mount.of === 'file') return ['--ro-bind', '/dev/null', mount.path];
			return ['--perms', isInhabited(mount, all) ? '0111' : '0000', '--tmpfs', mount.path];
	}
}

function isInhabited(hidden: Mount, mounts: readonly Mount[]): boolean {
	return mounts.some(({path}) => path !== hidden.path && isMountWithin(path, hidden.path));
}

function words({program, args, arg0, terminal}: SandboxedCommand, {setsid, bash}: Helpers): string[] {
	const named = arg0 === undefined || arg0 === program ? [program, ...args] : renamed(arg0, program, args, bash);
	if (!terminal) return named;
	if (setsid === undefined) throw unenforceable('`setsid` is missing, which a terminal in a sandbox needs');
	return [setsid, '-c', ...named];
}

/** `-p` keeps the shell from reading anything the environment names. */
function renamed(arg0: string, program: string, args: readonly string[], bash: string | undefined): string[] {
	if (bash === undefined) throw unenforceable('`bash` is missing, which another arg0 in a sandbox needs');
	return [bash, '-p', '-c', 'exec -a "$0" "$@"', arg0, program, ...args];
}
