import {describe, expect, test} from 'vitest';
import {createLandlockFilter} from '../../src/sandbox/native/landlock-filter.js';
import {createSeccompFilter} from '../../src/sandbox/seccomp-filter.js';

const ALLOW = 0x7fff_0000;
const KILL = 0x8000_0000;
const EPERM = 0x0005_0001;
const ENOSYS = 0x0005_0026;
const X64 = 0xc000_003e;
const I386 = 0x4000_0003;

interface Call {
	readonly nr: number;
	readonly arch?: number;
	readonly args?: readonly number[];
}

/** Runs a filter as the kernel does. */
function verdict(filter: Uint8Array, {nr, arch = X64, args = []}: Call): number {
	const program = Buffer.from(filter);
	const data = Buffer.alloc(64);
	data.writeUInt32LE(nr, 0);
	data.writeUInt32LE(arch, 4);
	for (const [index, value] of args.entries()) data.writeBigUInt64LE(BigInt(value), 16 + index * 8);
	let accumulator = 0;
	for (let at = 0; at < program.length / 8; at++) {
		const [code, yes, no] = [program.readUInt16LE(at * 8), program[at * 8 + 2]!, program[at * 8 + 3]!];
		const value = program.readUInt32LE(at * 8 + 4);
		if (code === 0x06) return value;
		if (code === 0x20) accumulator = data.readUInt32LE(value);
		else if (code === 0x54) accumulator &= value;
		else if (code === 0x15) at += accumulator === value ? yes : no;
		else if (code === 0x45) at += (accumulator & value) === 0 ? no : yes;
		else if (code === 0x35) at += accumulator >= value ? yes : no;
		else throw new Error(`unknown instruction ${code}`);
	}
	throw new Error('the filter ended without a verdict');
}

describe('without a network', () => {
	const filter = createSeccompFilter('none', 'x64');

	test.each<[string, Call, number]>([
		['an ordinary call', {nr: 0}, ALLOW],
		['connect, since there is nothing to connect to', {nr: 42}, ALLOW],
		['an IPv4 socket, confined by the namespace', {nr: 41, args: [2, 1]}, ALLOW],
		['an IPv6 socket', {nr: 41, args: [10, 1]}, ALLOW],
		['a netlink socket', {nr: 41, args: [16, 3]}, ALLOW],
		['a local socket', {nr: 41, args: [1, 1]}, EPERM],
		['a socket of a virtual machine', {nr: 41, args: [40, 1]}, EPERM],
		['a packet socket', {nr: 41, args: [17, 3]}, EPERM],
		['a pair of streams', {nr: 53, args: [1, 1 | 0x80000]}, ALLOW],
		['a pair of datagram sockets', {nr: 53, args: [1, 2 | 0x80000]}, EPERM],
		['a pair of another family', {nr: 53, args: [2, 1]}, EPERM],
		['io_uring_setup', {nr: 425}, ENOSYS],
		['keyctl', {nr: 250}, EPERM],
		['a call of 32 bits', {nr: 102, arch: I386}, KILL],
		['a call of x32', {nr: 0x4000_0029}, KILL],
	])('%s', (_name, call, expected) => {
		expect(verdict(filter, call)).toBe(expected);
	});
});

describe('with the network', () => {
	const filter = createSeccompFilter('host', 'x64');

	test.each<[string, Call, number]>([
		['a local socket', {nr: 41, args: [1, 1]}, ALLOW],
		['io_uring_setup, which creates files with any mode', {nr: 425}, ENOSYS],
		['a call of 32 bits', {nr: 102, arch: I386}, KILL],
		['add_key of 32 bits', {nr: 286, arch: I386}, KILL],
		['a call of x32', {nr: 0x4000_0029}, KILL],
		['keyctl of x32', {nr: 0x4000_00fa}, KILL],
		['add_key', {nr: 248}, EPERM],
		['request_key', {nr: 249}, EPERM],
		['keyctl', {nr: 250}, EPERM],
	])('%s', (_name, call, expected) => {
		expect(verdict(filter, call)).toBe(expected);
	});
});

const O_CREAT = 0o100;
const O_TMPFILE = 0o20200000;
const SETUID = 0o4755;
const SETGID = 0o2755;

describe.each([
	['none', createSeccompFilter('none', 'x64')],
	['host', createSeccompFilter('host', 'x64')],
	['host, under Landlock', createLandlockFilter({network: 'host', protectsAttributes: false, protectsNames: false})],
])('modes and leases with the network: %s', (_name, filter) => {
	test.each<[string, (mode: number) => Call]>([
		['creat', mode => ({nr: 85, args: [1, mode]})],
		['chmod', mode => ({nr: 90, args: [1, mode]})],
		['fchmod', mode => ({nr: 91, args: [1, mode]})],
		['fchmodat', mode => ({nr: 268, args: [1, 1, mode]})],
		['fchmodat2', mode => ({nr: 452, args: [1, 1, mode]})],
		['mknod', mode => ({nr: 133, args: [1, mode | 0o100000]})],
		['mknodat', mode => ({nr: 259, args: [1, 1, mode | 0o100000]})],
		['open that creates', mode => ({nr: 2, args: [1, O_CREAT | 1, mode]})],
		['open of a file without a name', mode => ({nr: 2, args: [1, O_TMPFILE | 1, mode]})],
		['openat that creates', mode => ({nr: 257, args: [1, 1, O_CREAT | 1, mode]})],
		['openat of a file without a name', mode => ({nr: 257, args: [1, 1, O_TMPFILE | 1, mode]})],
	])('%s makes no program that runs as its owner or group', (_call, call) => {
		for (const mode of [SETUID, SETGID, 0o6000, 0o4000]) expect(verdict(filter, call(mode))).toBe(EPERM);
		for (const mode of [0o755, 0o1777, 0]) expect(verdict(filter, call(mode))).toBe(ALLOW);
	});

	test.each<[string, Call, number]>([
		['open without a mode, whatever the register holds', {nr: 257, args: [1, 1, 0, SETUID]}, ALLOW],
		['openat2, whose mode is in memory', {nr: 437}, ENOSYS],
		['mkdir, in which the kernel ignores these bits', {nr: 258, args: [1, 1, SETGID]}, ALLOW],
		['a lease', {nr: 72, args: [3, 1024, 0]}, EPERM],
		['a delegation', {nr: 72, args: [3, 1040, 0]}, EPERM],
		['another request of fcntl', {nr: 72, args: [3, 1030, 0]}, ALLOW],
	])('%s', (_call, call, expected) => {
		expect(verdict(filter, call)).toBe(expected);
	});
});

describe('under Landlock', () => {
	const filter = createLandlockFilter({network: 'none', protectsAttributes: true, protectsNames: true});
	const open = createLandlockFilter({network: 'host', protectsAttributes: true, protectsNames: false});

	test.each<[string, Call, number]>([
		['any mode', {nr: 90, args: [1, 0o644]}, EPERM],
		['FS_IOC_SETFLAGS', {nr: 16, args: [3, 0x4008_6602]}, EPERM],
		['FS_IOC_SETVERSION', {nr: 16, args: [3, 0x4008_7602]}, EPERM],
		['FS_IOC_FSSETXATTR', {nr: 16, args: [3, 0x401c_5820]}, EPERM],
		['FS_IOC_ENABLE_VERITY', {nr: 16, args: [3, 0x4080_6685]}, EPERM],
		['BTRFS_IOC_SUBVOL_CREATE', {nr: 16, args: [3, 0x5000_940e]}, EPERM],
		['BTRFS_IOC_SNAP_DESTROY', {nr: 16, args: [3, 0x5000_940f]}, EPERM],
		['an unknown request', {nr: 16, args: [3, 0x1234_5678]}, EPERM],
		['TIOCSTI', {nr: 16, args: [0, 0x5412]}, EPERM],
		['TCGETS', {nr: 16, args: [0, 0x5401]}, ALLOW],
		['TIOCGWINSZ', {nr: 16, args: [0, 0x5413]}, ALLOW],
		['FIONBIO', {nr: 16, args: [0, 0x5421]}, ALLOW],
		['FICLONE', {nr: 16, args: [4, 0x4004_9409, 3]}, ALLOW],
		['inotify_add_watch', {nr: 254}, EPERM],
		['fanotify_mark', {nr: 301}, EPERM],
		['the processors of another process', {nr: 203, args: [17, 8, 1]}, EPERM],
		['its own processors', {nr: 203, args: [0, 8, 1]}, ALLOW],
		['the scheduler of another process', {nr: 144, args: [17]}, EPERM],
		['the priority of another process', {nr: 141, args: [0, 17, 19]}, EPERM],
		['the priority of all processes of a user', {nr: 141, args: [2, 0, 19]}, EPERM],
		['its own priority', {nr: 141, args: [0, 0, 19]}, ALLOW],
		['the I/O priority of another process', {nr: 251, args: [1, 17, 0]}, EPERM],
		['the I/O priority of all processes of a user', {nr: 251, args: [3, 0, 0]}, EPERM],
		['its own I/O priority', {nr: 251, args: [1, 0, 0]}, ALLOW],
		['the tag of descendants by setrlimit', {nr: 160, args: [15, 4096]}, EPERM],
		['the mark of descendants by setrlimit', {nr: 160, args: [10, 4096]}, EPERM],
		['another limit by setrlimit', {nr: 160, args: [7, 4096]}, ALLOW],
		['the tag of descendants by prlimit', {nr: 302, args: [0, 15, 4096, 0]}, EPERM],
		['the tag of descendants by prlimit, from above 4 GiB', {nr: 302, args: [0, 15, 2 ** 32, 0]}, EPERM],
		['the tag of descendants when it is read', {nr: 302, args: [0, 15, 0, 4096]}, ALLOW],
		['another limit by prlimit', {nr: 302, args: [0, 7, 4096, 0]}, ALLOW],
		['a limit of another process', {nr: 302, args: [17, 7, 4096, 0]}, EPERM],
	])('%s', (_name, call, expected) => {
		expect(verdict(filter, call)).toBe(expected);
	});

	test('directories can be watched where all of them can be listed', () => {
		expect(verdict(open, {nr: 254})).toBe(ALLOW);
	});
});

test('arm64 has numbers of its own, and where none are known there is no filter', () => {
	const arm = createSeccompFilter('none', 'arm64');
	expect(verdict(arm, {nr: 198, arch: 0xc000_00b7, args: [1, 1]})).toBe(EPERM);
	for (const network of ['none', 'host'] as const) {
		const filter = createSeccompFilter(network, 'arm64');
		// 0x40000028: AUDIT_ARCH_ARM, whose programs of 32 bits run there.
		expect(verdict(filter, {nr: 311, arch: 0x4000_0028})).toBe(KILL);
		expect(verdict(filter, {nr: 56, arch: 0xc000_00b7, args: [1, 1, O_CREAT, SETUID]})).toBe(EPERM);
		expect(verdict(filter, {nr: 53, arch: 0xc000_00b7, args: [1, 1, SETGID]})).toBe(EPERM);
		for (const nr of [217, 218, 219]) expect(verdict(filter, {nr, arch: 0xc000_00b7})).toBe(EPERM);
	}
	expect(verdict(arm, {nr: 41, arch: 0xc000_00b7, args: [1, 1]})).toBe(ALLOW);
	expect(() => createSeccompFilter('none', 'riscv64')).toThrow(/no system call filter for riscv64/);
});
