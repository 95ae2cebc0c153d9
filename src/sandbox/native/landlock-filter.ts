// Linux only: numbers of calls are for x64, the only processor with a launcher.
import type {SandboxPlan} from '../plan.js';
import {
	ALLOW,
	assembleProgram,
	commonRules,
	ENOSYS,
	EPERM,
	ERRNO,
	type FilterInstruction,
	IF_EQUAL,
	ifCall,
	LOAD,
	OFFSET_FIRST_ARGUMENT,
	OFFSET_SECOND_ARGUMENT,
	RETURN,
	requireArchitecture,
	socketPairRules,
} from '../seccomp-filter.js';

const IF_ANY_BIT = 0x45;
const CLONE = 56;
const CLONE3 = 435;
const IOCTL = 16;
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
/** FS_IOC_SETFLAGS in both widths, FS_IOC_FSSETXATTR */
const ATTRIBUTE_REQUESTS = [0x4008_6602, 0x4004_6602, 0x401c_5820];

export interface LandlockFilterOptions {
	readonly network: SandboxPlan['network'];
	/** True if some files may not be changed: Landlock looks at their content, and not at mode, owner and times. */
	readonly protectsAttributes: boolean;
}

/**
 * BPF program for a sandbox without namespaces. In addition to the filter of the others it forbids all sockets, shared
 * objects, limits of other processes, changes of file attributes, and namespaces, in which capabilities could be gained.
 */
export function createLandlockFilter({network, protectsAttributes}: LandlockFilterOptions): Uint8Array {
	const arch = requireArchitecture('x64');
	return assembleProgram([
		...commonRules(arch),
		...[...NAMESPACE_CALLS, ...SHARED_OBJECT_CALLS].flatMap(call => ifCall(call, [[RETURN, ERRNO | EPERM]])),
		// Its flags are in memory, where a filter cannot look; programs go on with `clone`.
		...ifCall(CLONE3, [[RETURN, ERRNO | ENOSYS]]),
		...ifCall(CLONE, [
			[LOAD, OFFSET_FIRST_ARGUMENT],
			[IF_ANY_BIT, NAMESPACE_FLAGS, 0, 1],
			[RETURN, ERRNO | EPERM],
			[RETURN, ALLOW],
		]),
		...ifCall(PRLIMIT64, [
			[LOAD, OFFSET_FIRST_ARGUMENT],
			[IF_EQUAL, 0, 0, 1],
			[RETURN, ALLOW],
			[RETURN, ERRNO | EPERM],
		]),
		...(protectsAttributes ? attributeRules() : []),
		// It makes sockets and changes attributes without calls of its own.
		...ifCall(arch.ioUringSetup, [[RETURN, ERRNO | ENOSYS]]),
		...(network === 'none' ? [...ifCall(arch.socket, [[RETURN, ERRNO | EPERM]]), ...socketPairRules(arch)] : []),
		[RETURN, ALLOW],
	]);
}

function attributeRules(): FilterInstruction[] {
	return [
		...ATTRIBUTE_CALLS.flatMap(call => ifCall(call, [[RETURN, ERRNO | EPERM]])),
		...ifCall(IOCTL, [
			[LOAD, OFFSET_SECOND_ARGUMENT],
			...ATTRIBUTE_REQUESTS.flatMap((request): FilterInstruction[] => [
				[IF_EQUAL, request, 0, 1],
				[RETURN, ERRNO | EPERM],
			]),
			[RETURN, ALLOW],
		]),
	];
}
