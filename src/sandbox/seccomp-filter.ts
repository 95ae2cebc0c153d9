import {endianness} from 'node:os';
import {type SandboxPlan, unenforceableError} from './plan.js';

/** System call numbers of an architecture, and its AUDIT_ARCH value. */
export interface Architecture {
	readonly audit: number;
	readonly socket: number;
	readonly socketpair: number;
	readonly ioUringSetup: number;
	/** add_key, request_key and keyctl: keyrings belong to the user, not to a namespace. */
	readonly keyrings: readonly number[];
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
		foreignFrom: 0x4000_0000,
	},
	arm64: {
		audit: 0xc000_00b7,
		socket: 198,
		socketpair: 199,
		ioUringSetup: 425,
		keyrings: [217, 218, 219],
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

/** Offsets in `struct seccomp_data`. */
const OFFSET_CALL = 0;
const OFFSET_ARCHITECTURE = 4;
export const OFFSET_FIRST_ARGUMENT = 16;
export const OFFSET_SECOND_ARGUMENT = 24;

export const LOAD = 0x20;
export const IF_EQUAL = 0x15;
const IF_AT_LEAST = 0x35;
const AND = 0x54;
export const RETURN = 0x06;
const INSTRUCTION_BYTES = 8;

/** Instruction of a BPF program; skips are relative. */
export type FilterInstruction = readonly [code: number, value: number, skipIfTrue?: number, skipIfFalse?: number];

/**
 * BPF program the kernel runs at every system call. Calls of another architecture or ABI (32-bit, x32), whose numbers
 * differ, kill the process: they would pass every rule. Without a network the program forbids the sockets that a network
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
	];
}

function socketRules(arch: Architecture): FilterInstruction[] {
	return [
		// io_uring creates sockets, too. Programs take ENOSYS for a kernel that is too old.
		...ifCall(arch.ioUringSetup, [[RETURN, ERRNO | ENOSYS]]),
		...ifCall(arch.socket, [
			[LOAD, OFFSET_FIRST_ARGUMENT],
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
			[LOAD, OFFSET_FIRST_ARGUMENT],
			[IF_EQUAL, AF_UNIX, 1, 0],
			[RETURN, ERRNO | EPERM],
			[LOAD, OFFSET_SECOND_ARGUMENT],
			[AND, SOCK_TYPE_MASK],
			[IF_EQUAL, SOCK_DGRAM, 0, 1],
			[RETURN, ERRNO | EPERM],
			[RETURN, ALLOW],
		]),
	];
}

/** `then` must return on every path, since it overwrites the loaded call number. */
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
