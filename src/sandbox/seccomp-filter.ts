import {endianness} from 'node:os';
import {type SandboxPlan, unenforceableError} from './plan.js';

/** Number of a system call and position of one of its arguments. */
export type CallWithArgument = readonly [call: number, argument: number];

/** System call numbers of an architecture, and its AUDIT_ARCH value. */
export interface Architecture {
	readonly audit: number;
	readonly socket: number;
	readonly socketpair: number;
	readonly ioUringSetup: number;
	/** add_key, request_key and keyctl: keyrings belong to the user, not to a namespace. */
	readonly keyrings: readonly number[];
	readonly fcntl: number;
	readonly openat2: number;
	/** Calls that set the mode of a file or create a file with one, and which of their arguments is the mode. */
	readonly modeCalls: readonly CallWithArgument[];
	/** Calls that may create a file, and which of their arguments are the flags; the mode is the next one. */
	readonly openCalls: readonly CallWithArgument[];
	/** Numbers from here on belong to another ABI (x32). */
	readonly foreignFrom: number | undefined;
}

const ARCHITECTURES: Readonly<Partial<Record<NodeJS.Architecture, Architecture>>> = {
	x64: {
		audit: 0xc000_003e,
		socket: 41,
		socketpair: 53,
		ioUringSetup: 425,
		keyrings: [248, 249, 250],
		fcntl: 72,
		openat2: 437,
		// creat, chmod, fchmod, mknod, mknodat, fchmodat, fchmodat2
		modeCalls: [
			[85, 1],
			[90, 1],
			[91, 1],
			[133, 1],
			[259, 2],
			[268, 2],
			[452, 2],
		],
		// open, openat
		openCalls: [
			[2, 1],
			[257, 2],
		],
		foreignFrom: 0x4000_0000,
	},
	arm64: {
		audit: 0xc000_00b7,
		socket: 198,
		socketpair: 199,
		ioUringSetup: 425,
		keyrings: [217, 218, 219],
		fcntl: 25,
		openat2: 437,
		// mknodat, fchmod, fchmodat, fchmodat2
		modeCalls: [
			[33, 2],
			[52, 1],
			[53, 2],
			[452, 2],
		],
		// openat
		openCalls: [[56, 2]],
		foreignFrom: undefined,
	},
};

const AF_UNIX = 1;
/** AF_INET, AF_INET6, AF_NETLINK: confined by the network namespace. Others, such as AF_UNIX and AF_VSOCK, reach the host. */
const CONFINED_FAMILIES = [2, 10, 16];
const SOCK_DGRAM = 2;
const SOCK_TYPE_MASK = 0xf;

// Errors and actions of the kernel ABI of Linux, the same wherever this program runs.
export const EPERM = 1;
export const ENOSYS = 38;
export const ALLOW = 0x7fff_0000;
const KILL = 0x8000_0000;
export const ERRNO = 0x0005_0000;

/** Mode bits by which a program runs as the owner, or the group, of its file: S_ISUID and S_ISGID. */
const SET_ID_BITS = 0o6000;
/** Flags of `open` that create a file: O_CREAT and __O_TMPFILE. */
const CREATING_FLAGS = 0o20000100;
/** Commands of `fcntl`: a lease or a delegation blocks whoever opens the file for writing, on the host as well. */
const F_SETLEASE = 1024;
const F_SETDELEG = 1040;

/** Offsets in `struct seccomp_data`. */
export const OFFSET_CALL = 0;
const OFFSET_ARCHITECTURE = 4;
const OFFSET_ARGUMENTS = 16;
const ARGUMENT_BYTES = 8;

export const LOAD = 0x20;
export const IF_EQUAL = 0x15;
const IF_AT_LEAST = 0x35;
export const IF_ANY_BIT = 0x45;
const AND = 0x54;
export const RETURN = 0x06;
const INSTRUCTION_BYTES = 8;

/** Instruction of a BPF program; skips are relative. */
export type FilterInstruction = readonly [code: number, value: number, skipIfTrue?: number, skipIfFalse?: number];

/**
 * BPF program the kernel runs at every system call. Calls of another architecture or ABI (32-bit, x32), whose numbers
 * differ, kill the process: they would pass every rule. No file can be given a mode with which it would run as its owner or
 * group: whoever runs it later does so outside of the sandbox. Without a network the program forbids the sockets that a network
 * namespace does not confine: a socket file of the host accepts connections through a read-only mount, so no AF_UNIX socket
 * can be created but a pair of connected streams.
 */
export function createSeccompFilter(network: SandboxPlan['network'], arch: NodeJS.Architecture = process.arch): Buffer {
	const known = requireArchitecture(arch);
	const rules = network === 'none' ? socketRules(known) : [];
	return assembleProgram([...commonRules(known), ...rules, [RETURN, ALLOW]]);
}

/** Numbers of an architecture; throws where there are none. */
export function requireArchitecture(arch: NodeJS.Architecture): Architecture {
	const known = ARCHITECTURES[arch];
	if (!known || endianness() !== 'LE') throw unenforceableError(`it knows no system call filter for ${arch}`);
	return known;
}

export function commonRules(arch: Architecture): FilterInstruction[] {
	return [
		[LOAD, OFFSET_ARCHITECTURE],
		[IF_EQUAL, arch.audit, 1, 0],
		[RETURN, KILL],
		[LOAD, OFFSET_CALL],
		...(arch.foreignFrom === undefined
			? []
			: ([
					[IF_AT_LEAST, arch.foreignFrom, 0, 1],
					[RETURN, KILL],
				] as FilterInstruction[])),
		...arch.keyrings.flatMap(call => ifCall(call, [[RETURN, ERRNO | EPERM]])),
		// Their requests are in memory, where a filter cannot read them. Programs take ENOSYS for a kernel that is too old.
		...[arch.ioUringSetup, arch.openat2].flatMap(call => ifCall(call, [[RETURN, ERRNO | ENOSYS]])),
		...setIdRules(arch),
		...ifCall(arch.fcntl, [
			[LOAD, argumentOffset(1)],
			[IF_EQUAL, F_SETLEASE, 1, 0],
			[IF_EQUAL, F_SETDELEG, 0, 1],
			[RETURN, ERRNO | EPERM],
			[LOAD, OFFSET_CALL],
		]),
	];
}

/**
 * Forbids modes with which a program runs as the owner or group of its file. `mkdir` needs no rule: the kernel takes these
 * bits out of its mode, and `cp` passes the one of directories whose entries inherit their group.
 */
function setIdRules(arch: Architecture): FilterInstruction[] {
	const ifForbidden: FilterInstruction[] = [
		[IF_ANY_BIT, SET_ID_BITS, 0, 1],
		[RETURN, ERRNO | EPERM],
		[LOAD, OFFSET_CALL],
	];
	return [
		...arch.modeCalls.flatMap(([call, mode]) => ifCall(call, [[LOAD, argumentOffset(mode)], ...ifForbidden])),
		...arch.openCalls.flatMap(([call, flags]) =>
			ifCall(call, [
				[LOAD, argumentOffset(flags)],
				[IF_ANY_BIT, CREATING_FLAGS, 0, 3],
				[LOAD, argumentOffset(flags + 1)],
				...ifForbidden,
			]),
		),
	];
}

function socketRules(arch: Architecture): FilterInstruction[] {
	return [
		...ifCall(arch.socket, [
			[LOAD, argumentOffset(0)],
			...CONFINED_FAMILIES.flatMap(
				family =>
					[
						[IF_EQUAL, family, 0, 1],
						[RETURN, ALLOW],
					] as FilterInstruction[],
			),
			[RETURN, ERRNO | EPERM],
		]),
		...socketPairRules(arch),
	];
}

/** A datagram socket can send to any other although it is connected to its pair. */
export function socketPairRules(arch: Architecture): FilterInstruction[] {
	return [
		...ifCall(arch.socketpair, [
			[LOAD, argumentOffset(0)],
			[IF_EQUAL, AF_UNIX, 1, 0],
			[RETURN, ERRNO | EPERM],
			[LOAD, argumentOffset(1)],
			[AND, SOCK_TYPE_MASK],
			[IF_EQUAL, SOCK_DGRAM, 0, 1],
			[RETURN, ERRNO | EPERM],
			[RETURN, ALLOW],
		]),
	];
}

/** Offset of an argument of the call: of its lower half, which is all of it for the types that filters check. */
export function argumentOffset(index: number): number {
	return OFFSET_ARGUMENTS + index * ARGUMENT_BYTES;
}

/** Offset of the upper half of an argument that is an address. */
export function upperHalfOffset(index: number): number {
	return argumentOffset(index) + ARGUMENT_BYTES / 2;
}

/** `then` must return on every path, or load the number of the call again, so that the rules that follow apply. */
export function ifCall(call: number, then: readonly FilterInstruction[]): FilterInstruction[] {
	return [[IF_EQUAL, call, 0, then.length], ...then];
}

export function assembleProgram(program: readonly FilterInstruction[]): Buffer {
	const bytes = Buffer.alloc(program.length * INSTRUCTION_BYTES);
	for (const [index, [code, value, skipIfTrue = 0, skipIfFalse = 0]] of program.entries()) {
		const offset = index * INSTRUCTION_BYTES;
		bytes.writeUInt16LE(code, offset);
		bytes.writeUInt8(skipIfTrue, offset + 2);
		bytes.writeUInt8(skipIfFalse, offset + 3);
		bytes.writeUInt32LE(value >>> 0, offset + 4);
	}
	return bytes;
}

const filters = new Map<SandboxPlan['network'], Buffer>();

/** Filter for this machine, made once. */
export function seccompFilter(network: SandboxPlan['network']): Uint8Array {
	const known = filters.get(network) ?? createSeccompFilter(network);
	filters.set(network, known);
	return known;
}
