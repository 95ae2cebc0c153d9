// Linux only.
import type {SandboxedCommand, SandboxPlan} from '../plan.js';
import {CallList, type Cell} from './call-list.js';
import {addCloseCalls, addCommandCalls, addDirectoryCalls, requireDirectory} from './command-calls.js';
import {addCapabilityCalls, addNamespaceFilterCalls} from './privilege-calls.js';
import {AT_FDCWD, O_CLOEXEC, O_WRONLY, SIGCHLD, SIGKILL} from './system-calls.js';
import {addViewCalls} from './view-calls.js';

const CLONE_NEWNS = 0x2_0000;
const CLONE_NEWCGROUP = 0x200_0000;
const CLONE_NEWUTS = 0x400_0000;
const CLONE_NEWIPC = 0x800_0000;
const CLONE_NEWUSER = 0x1000_0000;
const CLONE_NEWPID = 0x2000_0000;
const CLONE_NEWNET = 0x4000_0000;
const NAMESPACES = CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID;

const PR_SET_PDEATHSIG = 1;
const PR_SET_NAME = 15;
const AF_INET = 2;
const SOCK_DGRAM = 2;
const SIOCSIFFLAGS = 0x8914;
const IFF_UP = 1;
const INTERFACE_REQUEST_BYTES = 40;
const INTERFACE_FLAGS_OFFSET = 16;

/**
 * Program that runs a command under a plan, in namespaces of its own. Three processes: the first waits outside, the second
 * is the init process of the namespaces and makes the view, the third is the command.
 */
export function createNamespaceProgram(plan: SandboxPlan, command: SandboxedCommand): Uint8Array {
	const cwd = requireDirectory(command);
	const calls = new CallList();
	const [init, program] = [calls.cell(), calls.cell()];
	const [waitOutside, waitInside] = [calls.target(), calls.target()];
	// Read end and write end, four bytes each.
	const lifeline = calls.cell();
	const [readEnd, writeEnd] = [lifeline, {cell: lifeline.cell + 4}];
	calls.attempt('prctl', [PR_SET_NAME, calls.text('longarm-sandbox')]);
	addDeathCalls(calls);
	addCloseCalls(calls);
	calls.require('make a pipe', 'pipe2', [lifeline.cell, O_CLOEXEC]);
	const flags = NAMESPACES | (plan.network === 'none' ? CLONE_NEWNET : 0) | SIGCHLD;
	calls.require('make namespaces', 'clone', [flags, 0, 0, 0, 0], {result: init, jump: waitOutside});

	addDeathCalls(calls);
	addParentCheck(calls, readEnd, writeEnd);
	calls.attempt('unshare', [CLONE_NEWCGROUP]);
	addUserCalls(calls);
	if (plan.network === 'none') addLoopbackCalls(calls);
	addViewCalls(calls, plan, command.terminal);
	addCapabilityCalls(calls);
	addDirectoryCalls(calls, cwd);
	addNamespaceFilterCalls(calls, plan);
	addCloseCalls(calls);
	calls.require('start the command', 'clone', [SIGCHLD, 0, 0, 0, 0], {result: program, jump: waitInside});
	addCommandCalls(calls, command);

	calls.place(waitOutside);
	calls.attempt('write', [writeEnd, calls.text('x'), 1]);
	addWaitCalls(calls, init);
	calls.place(waitInside);
	addWaitCalls(calls, program);
	return calls.toProgram();
}

/** Dies with its parent. */
function addDeathCalls(calls: CallList): void {
	calls.require('die with the parent', 'prctl', [PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0]);
}

/** Ends a child whose parent was gone before it asked to die with it: the pipe has no writer then. */
function addParentCheck(calls: CallList, readEnd: Cell, writeEnd: Cell): void {
	const goOn = calls.target();
	calls.attempt('close', [writeEnd]);
	calls.require('hear of the parent', 'read', [readEnd, calls.cell().cell, 1], {jump: goOn});
	calls.attempt('exit_group', [1]);
	calls.place(goOn);
	calls.attempt('close', [readEnd]);
}

/** The user and the group are the same inside and outside, and there are no others. */
function addUserCalls(calls: CallList): void {
	const [user, group] = [process.geteuid!(), process.getegid!()];
	addFileCalls(calls, '/proc/self/setgroups', 'deny');
	addFileCalls(calls, '/proc/self/uid_map', `${user} ${user} 1`);
	addFileCalls(calls, '/proc/self/gid_map', `${group} ${group} 1`);
}

function addFileCalls(calls: CallList, path: string, text: string): void {
	const file = calls.cell();
	calls.require(`open ${path}`, 'openat', [AT_FDCWD, calls.text(path), O_WRONLY | O_CLOEXEC], {result: file});
	calls.require(`write to ${path}`, 'write', [file, calls.text(text), text.length]);
	calls.attempt('close', [file]);
}

/** The kernel gives the loopback its addresses when it goes up. */
function addLoopbackCalls(calls: CallList): void {
	const socket = calls.cell();
	const request = Buffer.alloc(INTERFACE_REQUEST_BYTES);
	request.write('lo');
	request.writeUInt16LE(IFF_UP, INTERFACE_FLAGS_OFFSET);
	calls.require('open a socket', 'socket', [AF_INET, SOCK_DGRAM, 0], {result: socket});
	calls.require('start the loopback', 'ioctl', [socket, SIOCSIFFLAGS, calls.bytes(request)]);
	calls.attempt('close', [socket]);
}

/** The streams belong to the command alone, so that they end with it. */
function addWaitCalls(calls: CallList, child: Cell): void {
	const exitCode = calls.cell();
	for (const stream of [0, 1, 2]) calls.attempt('close', [stream]);
	calls.wait(child, exitCode);
	calls.attempt('exit_group', [exitCode]);
}
