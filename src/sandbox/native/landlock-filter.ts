// Linux only: numbers of calls are for x64, the only processor with a launcher.
import type {SandboxPlan} from '../plan.js';
import {
	ALLOW,
	argumentOffset,
	assembleProgram,
	commonRules,
	ENOSYS,
	EPERM,
	ERRNO,
	type FilterInstruction,
	IF_ANY_BIT,
	IF_EQUAL,
	ifCall,
	LOAD,
	RETURN,
	requireArchitecture,
	socketPairRules,
	upperHalfOffset,
} from '../seccomp-filter.js';
import {ALLOWED_REQUESTS} from './landlock-ioctls.js';

const CLONE = 56;
const CLONE3 = 435;
const IOCTL = 16;
const SETRLIMIT = 160;
const PRLIMIT64 = 302;
/** All flags of `clone` that make namespaces. */
const NAMESPACE_FLAGS = 0x7e02_0000;
/** unshare, setns */
const NAMESPACE_CALLS = [272, 308];
/** Memory, semaphores and queues that all processes of a user share, outside of every directory. */
const SHARED_OBJECT_CALLS = [29, 30, 31, 64, 65, 66, 68, 69, 70, 71, 220, 240, 241];
/**
 * chmod, fchmod, chown, fchown, lchown, fchownat, fchmodat, fchmodat2; utime, utimes, futimesat, utimensat; setxattr,
 * lsetxattr, fsetxattr, removexattr, lremovexattr, fremovexattr, setxattrat, removexattrat; file_setattr.
 */
const ATTRIBUTE_CALLS = [
	90, 91, 92, 93, 94, 260, 268, 452, 132, 235, 261, 280, 188, 189, 190, 197, 198, 199, 463, 466, 469,
];
/** inotify_add_watch, fanotify_init, fanotify_mark: they report names in directories that Landlock does not let be listed. */
const WATCH_CALLS = [254, 300, 301];
/** sched_setparam, sched_setscheduler, sched_setaffinity, sched_setattr: the first argument is the process, 0 for the caller. */
const SCHEDULER_CALLS = [142, 144, 203, 314];
/** setpriority and ioprio_set, and the value of their first argument that stands for all processes of a user. */
const PRIORITY_CALLS = [
	[141, 2],
	[251, 3],
] as const;
/** RLIMIT_LOCKS and RLIMIT_RTTIME, by which the server recognises the descendants of its children. */
const TAG_LIMITS = [10, 15] as const;

const REFUSE: FilterInstruction = [RETURN, ERRNO | EPERM];

export interface LandlockFilterOptions {
	readonly network: SandboxPlan['network'];
	/** True if some files may not be changed: Landlock does not check changes of mode, owner, times and other attributes. */
	readonly protectsAttributes: boolean;
	/** True if some directories may not be listed: Landlock does not check who watches them. */
	readonly protectsNames: boolean;
}

/**
 * BPF program for a sandbox without namespaces. In addition to the filter of the others it forbids all sockets, shared
 * objects, limits and priorities of other processes, changes of file attributes, and namespaces, in which capabilities
 * could be gained.
 */
export function createLandlockFilter({network, protectsAttributes, protectsNames}: LandlockFilterOptions): Uint8Array {
	const arch = requireArchitecture('x64');
	return assembleProgram([
		...commonRules(arch),
		...[...NAMESPACE_CALLS, ...SHARED_OBJECT_CALLS].flatMap(call => ifCall(call, [REFUSE])),
		// Its flags are in memory, where a filter cannot read them; programs fall back to `clone`.
		...ifCall(CLONE3, [[RETURN, ERRNO | ENOSYS]]),
		...ifCall(CLONE, [[LOAD, argumentOffset(0)], [IF_ANY_BIT, NAMESPACE_FLAGS, 0, 1], REFUSE, [RETURN, ALLOW]]),
		...limitRules(),
		...priorityRules(),
		...(protectsAttributes ? attributeRules() : []),
		...(protectsNames ? WATCH_CALLS.flatMap(call => ifCall(call, [REFUSE])) : []),
		...(network === 'none' ? [...ifCall(arch.socket, [REFUSE]), ...socketPairRules(arch)] : []),
		[RETURN, ALLOW],
	]);
}

/** A process may set its own limits only, and not those that mark it as a descendant of the server. */
function limitRules(): FilterInstruction[] {
	const [locks, realTime] = TAG_LIMITS;
	return [
		...ifCall(SETRLIMIT, [
			[LOAD, argumentOffset(0)],
			[IF_EQUAL, locks, 1, 0],
			[IF_EQUAL, realTime, 0, 1],
			REFUSE,
			[RETURN, ALLOW],
		]),
		...ifCall(PRLIMIT64, [
			[LOAD, argumentOffset(0)],
			[IF_EQUAL, 0, 1, 0],
			REFUSE,
			[LOAD, argumentOffset(1)],
			[IF_EQUAL, locks, 1, 0],
			[IF_EQUAL, realTime, 0, 5],
			// Without an address of new limits, they are only read.
			[LOAD, argumentOffset(2)],
			[IF_EQUAL, 0, 0, 2],
			[LOAD, upperHalfOffset(2)],
			[IF_EQUAL, 0, 1, 0],
			REFUSE,
			[RETURN, ALLOW],
		]),
	];
}

/** A process may change the scheduling of itself only: others of this user, such as the server, are outside. */
function priorityRules(): FilterInstruction[] {
	return [
		...SCHEDULER_CALLS.flatMap(call =>
			ifCall(call, [[LOAD, argumentOffset(0)], [IF_EQUAL, 0, 1, 0], REFUSE, [RETURN, ALLOW]]),
		),
		...PRIORITY_CALLS.flatMap(([call, allOfUser]) =>
			ifCall(call, [
				[LOAD, argumentOffset(0)],
				[IF_EQUAL, allOfUser, 2, 0],
				[LOAD, argumentOffset(1)],
				[IF_EQUAL, 0, 1, 0],
				REFUSE,
				[RETURN, ALLOW],
			]),
		),
	];
}

/** Requests of `ioctl` depend on the file system: those that are not known to change nothing of a file are forbidden. */
function attributeRules(): FilterInstruction[] {
	return [
		...ATTRIBUTE_CALLS.flatMap(call => ifCall(call, [REFUSE])),
		...ifCall(IOCTL, [
			[LOAD, argumentOffset(1)],
			...ALLOWED_REQUESTS.flatMap((request): FilterInstruction[] => [
				[IF_EQUAL, request, 0, 1],
				[RETURN, ALLOW],
			]),
			REFUSE,
		]),
	];
}
