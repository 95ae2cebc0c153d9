import {describe, expect, test} from 'vitest';
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
function verdict(filter: Buffer, {nr, arch = X64, args = []}: Call): number {
	const data = Buffer.alloc(64);
	data.writeUInt32LE(nr, 0);
	data.writeUInt32LE(arch, 4);
	for (const [index, value] of args.entries()) data.writeUInt32LE(value, 16 + index * 8);
	let accumulator = 0;
	for (let at = 0; at < filter.length / 8; at++) {
		const [code, yes, no] = [filter.readUInt16LE(at * 8), filter[at * 8 + 2]!, filter[at * 8 + 3]!];
		const value = filter.readUInt32LE(at * 8 + 4);
		if (code === 0x06) return value;
		if (code === 0x20) accumulator = data.readUInt32LE(value);
		else if (code === 0x54) accumulator &= value;
		else if (code === 0x15) at += accumulator === value ? yes : no;
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
		['io_uring_setup', {nr: 425}, ALLOW],
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

test('arm64 has numbers of its own, and where none are known there is no filter', () => {
	const arm = createSeccompFilter('none', 'arm64');
	expect(verdict(arm, {nr: 198, arch: 0xc000_00b7, args: [1, 1]})).toBe(EPERM);
	for (const network of ['none', 'host'] as const) {
		const filter = createSeccompFilter(network, 'arm64');
		// 0x40000028: AUDIT_ARCH_ARM, whose programs of 32 bits run there.
		expect(verdict(filter, {nr: 311, arch: 0x4000_0028})).toBe(KILL);
		for (const nr of [217, 218, 219]) expect(verdict(filter, {nr, arch: 0xc000_00b7})).toBe(EPERM);
	}
	expect(verdict(arm, {nr: 41, arch: 0xc000_00b7, args: [1, 1]})).toBe(ALLOW);
	expect(() => createSeccompFilter('none', 'riscv64')).toThrow(/no system call filter for riscv64/);
});
