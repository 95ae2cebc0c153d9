// Linux only.
import {readFileSync} from 'node:fs';
import type {CallList} from './call-list.js';

const PR_SET_SECCOMP = 22;
const PR_CAPBSET_DROP = 24;
const PR_SET_NO_NEW_PRIVS = 38;
const PR_CAP_AMBIENT = 47;
const PR_CAP_AMBIENT_CLEAR_ALL = 4;
const SECCOMP_MODE_FILTER = 2;
const CAPABILITY_VERSION_3 = 0x2008_0522;
const CAPABILITY_HEADER_BYTES = 8;
const CAPABILITY_SETS_BYTES = 24;
const FILTER_INSTRUCTION_BYTES = 8;

/** Adds the calls that take every capability, those that programs could bring, and every way to gain one. */
export function addCapabilityCalls(calls: CallList): void {
	for (let capability = 0; capability <= findLastCapability(); capability++) {
		calls.require('drop capabilities', 'prctl', [PR_CAPBSET_DROP, capability, 0, 0, 0]);
	}
	addUnprivilegedCalls(calls);
}

/** The same without those that programs could bring, which takes a capability: `no_new_privs` keeps them out, too. */
export function addUnprivilegedCalls(calls: CallList): void {
	const label = 'drop capabilities';
	const header = Buffer.alloc(CAPABILITY_HEADER_BYTES);
	header.writeUInt32LE(CAPABILITY_VERSION_3);
	calls.require(label, 'prctl', [PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0]);
	calls.require(label, 'capset', [calls.bytes(header), calls.bytes(Buffer.alloc(CAPABILITY_SETS_BYTES))]);
	calls.require('forbid new privileges', 'prctl', [PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0]);
}

/** Adds the calls that install a system call filter, which needs `no_new_privs`. */
export function addFilterCalls(calls: CallList, filter: Uint8Array): void {
	const program = calls.words([filter.length / FILTER_INSTRUCTION_BYTES, calls.bytes(filter)]);
	calls.require('install the system call filter', 'prctl', [PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0]);
}

let lastCapability: number | undefined;

function findLastCapability(): number {
	lastCapability ??= Number(readFileSync('/proc/sys/kernel/cap_last_cap', 'utf8'));
	return lastCapability;
}
