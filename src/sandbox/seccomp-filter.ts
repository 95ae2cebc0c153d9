import {mkdtempSync, openSync, rmSync, writeSync} from 'node:fs';
import {endianness, tmpdir} from 'node:os';
import {join} from 'node:path';
import type {SandboxPlan} from './plan.js';
import {unenforceable} from './refusals.js';

/** The numbers of the calls a filter is about, and how the kernel names the architecture they belong to. */
interface Architecture {
	readonly audit: number;
	readonly socket: number;
	readonly socketpair: number;
	readonly ioUringSetup: number;
	/** Kernel keyrings belong to the user, not to a namespace. */
	readonly keyrings: readonly number[];
	/** Numbers from here on belong to another set of calls. */
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
/** Families that end at the network namespace. All others, local and virtual machine sockets first, reach the host. */
const CONFINED_FAMILIES = [2, 10, 16];
const SOCK_DGRAM = 2;
const SOCK_TYPE_MASK = 0xf;

const EPERM = 1;
const ENOSYS = 38;
const ALLOW = 0x7fff_0000;
const KILL = 0x8000_0000;
const ERRNO = 0x0005_0000;

/** Where the kernel puts what a filter looks at. */
const OFFSET_CALL = 0;
const OFFSET_ARCHITECTURE = 4;
const OFFSET_FIRST_ARGUMENT = 16;
const OFFSET_SECOND_ARGUMENT = 24;

const LOAD = 0x20;
const IF_EQUAL = 0x15;
const IF_AT_LEAST = 0x35;
const AND = 0x54;
const RETURN = 0x06;
const INSTRUCTION_BYTES = 8;

type Instruction = readonly [code: number, value: number, skipIfTrue?: number, skipIfFalse?: number];

/**
 * The program the kernel runs at every call. Without a network it takes away the sockets that a network namespace does
 * not confine: a socket file of the host can be connected to through a read-only mount, so no local socket can be made
 * but a pair of connected streams. Calls of another architecture would pass by the numbers and end the program.
 */
export function seccompFilter(network: SandboxPlan['network'], arch: NodeJS.Architecture = process.arch): Buffer {
	const known = ARCHITECTURES[arch];
	if (!known || endianness() !== 'LE') throw unenforceable(`it knows no system call filter for ${arch}`);
	return assembled(network === 'none' ? withoutNetwork(known) : withNetwork(known));
}

function withNetwork(arch: Architecture): Instruction[] {
	return [
		[LOAD, OFFSET_ARCHITECTURE],
		[IF_EQUAL, arch.audit, 1, 0],
		[RETURN, ALLOW],
		[LOAD, OFFSET_CALL],
		...arch.keyrings.flatMap(call => whenCall(call, [[RETURN, ERRNO | EPERM]])),
		[RETURN, ALLOW],
	];
}

function withoutNetwork(arch: Architecture): Instruction[] {
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
				] as Instruction[])),
		...arch.keyrings.flatMap(call => whenCall(call, [[RETURN, ERRNO | EPERM]])),
		// It makes sockets, too. Programs take it for a kernel that is too old.
		...whenCall(arch.ioUringSetup, [[RETURN, ERRNO | ENOSYS]]),
		...whenCall(arch.socket, [
			[LOAD, OFFSET_FIRST_ARGUMENT],
			...CONFINED_FAMILIES.flatMap(
				family =>
					[
						[IF_EQUAL, family, 0, 1],
						[RETURN, ALLOW],
					] as Instruction[],
			),
			[RETURN, ERRNO | EPERM],
		]),
		// A datagram socket can send to any other although it has a partner.
		...whenCall(arch.socketpair, [
			[LOAD, OFFSET_FIRST_ARGUMENT],
			[IF_EQUAL, AF_UNIX, 1, 0],
			[RETURN, ERRNO | EPERM],
			[LOAD, OFFSET_SECOND_ARGUMENT],
			[AND, SOCK_TYPE_MASK],
			[IF_EQUAL, SOCK_DGRAM, 0, 1],
			[RETURN, ERRNO | EPERM],
			[RETURN, ALLOW],
		]),
		[RETURN, ALLOW],
	];
}

/** `then` has to return on every way, since it loads something else. */
function whenCall(call: number, then: readonly Instruction[]): Instruction[] {
	return [[IF_EQUAL, call, 0, then.length], ...then];
}

function assembled(program: readonly Instruction[]): Buffer {
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

const files = new Map<SandboxPlan['network'], string>();

/**
 * A path at which this program, and a child it is making, can open the filter. The file itself has no name, so that
 * nobody else can change it and nothing is left behind.
 */
export function filterPath(network: SandboxPlan['network']): string {
	const known = files.get(network);
	if (known !== undefined) return known;
	const directory = mkdtempSync(join(tmpdir(), 'longarm-filter-'));
	try {
		const fd = openSync(join(directory, 'filter'), 'wx+', 0o600);
		writeSync(fd, seccompFilter(network));
		const path = `/proc/self/fd/${fd}`;
		files.set(network, path);
		return path;
	} finally {
		rmSync(directory, {recursive: true});
	}
}
