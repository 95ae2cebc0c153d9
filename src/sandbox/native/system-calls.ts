// Linux only: numbers of the kernel's interface. Those of calls are for x64.

export const CALL_NUMBERS = {
	read: 0,
	write: 1,
	close: 3,
	ioctl: 16,
	socket: 41,
	clone: 56,
	execve: 59,
	wait4: 61,
	kill: 62,
	chdir: 80,
	fchdir: 81,
	readlink: 89,
	umask: 95,
	setsid: 112,
	capset: 126,
	pivot_root: 155,
	prctl: 157,
	mount: 165,
	umount2: 166,
	exit_group: 231,
	openat: 257,
	mkdirat: 258,
	mknodat: 259,
	unlinkat: 263,
	symlinkat: 266,
	unshare: 272,
	pipe2: 293,
	open_tree: 428,
	move_mount: 429,
	fsopen: 430,
	fsconfig: 431,
	fsmount: 432,
	close_range: 436,
	openat2: 437,
	mount_setattr: 442,
	landlock_create_ruleset: 444,
	landlock_add_rule: 445,
	landlock_restrict_self: 446,
} as const;

export type CallName = keyof typeof CALL_NUMBERS;

export const SIGKILL = 9;
export const SIGCHLD = 17;
export const AT_FDCWD = -100;
export const AT_EMPTY_PATH = 0x1000;
export const AT_RECURSIVE = 0x8000;

export const O_WRONLY = 1;
export const O_CLOEXEC = 0o2000000;
export const O_PATH_ONLY = 0o10000000;
