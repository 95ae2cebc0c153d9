// Linux only.
import {allowsAllFiles, OWN_TREES, type SandboxedCommand, type SandboxPlan} from '../plan.js';
import {seccompFilter} from '../seccomp-filter.js';
import {CallList} from './call-list.js';
import {
	addCloseCalls,
	addCloseInheritedCalls,
	addCommandCalls,
	addDirectoryCalls,
	requireDirectory,
} from './command-calls.js';
import {addLandlockCalls, grantAt, LIST_RIGHTS, type PathGrant, READ_RIGHTS, WRITE_RIGHTS} from './landlock-calls.js';
import {addCapabilityCalls, addFilterCalls} from './privilege-calls.js';
import {addChildCalls, addLifelineCalls, addReleaseCalls, addStartCalls, addWaitCalls} from './process-calls.js';
import {AT_FDCWD, O_CLOEXEC, O_WRONLY, SIGCHLD} from './system-calls.js';
import {addViewCalls} from './view-calls.js';

const CLONE_NEWNS = 0x2_0000;
const CLONE_NEWCGROUP = 0x200_0000;
const CLONE_NEWUTS = 0x400_0000;
const CLONE_NEWIPC = 0x800_0000;
const CLONE_NEWUSER = 0x1000_0000;
const CLONE_NEWPID = 0x2000_0000;
const CLONE_NEWNET = 0x4000_0000;
const NAMESPACES = CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID;

const AF_INET = 2;
const SOCK_DGRAM = 2;
const SIOCSIFFLAGS = 0x8914;
const IFF_UP = 1;
const INTERFACE_REQUEST_BYTES = 40;
const INTERFACE_FLAGS_OFFSET = 16;

/**
 * Program that runs a command under a plan, in namespaces of its own. Three processes: the first waits outside, the second
 * is the init process of the namespaces and makes the view, the third is the command. Where the kernel has Landlock, it
 * holds what the mounts are for once more.
 */
export function createNamespaceProgram(
	plan: SandboxPlan,
	command: SandboxedCommand,
	landlockVersion?: number,
): Uint8Array {
	const cwd = requireDirectory(command);
	const calls = new CallList();
	const [init, program] = [calls.cell(), calls.cell()];
	const [waitOutside, waitInside] = [calls.target(), calls.target()];
	addStartCalls(calls);
	addCloseCalls(calls, command);
	const lifeline = addLifelineCalls(calls);
	const flags = NAMESPACES | (plan.network === 'none' ? CLONE_NEWNET : 0) | SIGCHLD;
	calls.require('make namespaces', 'clone', [flags, 0, 0, 0, 0], {result: init, jump: waitOutside});

	addChildCalls(calls, lifeline);
	calls.attempt('unshare', [CLONE_NEWCGROUP]);
	addUserCalls(calls);
	if (plan.network === 'none') addLoopbackCalls(calls);
	addViewCalls(calls, plan, command.terminal);
	addCapabilityCalls(calls);
	addDirectoryCalls(calls, cwd);
	if (landlockVersion !== undefined && !allowsAllFiles(plan)) addSecondWall(calls, plan, landlockVersion);
	addFilterCalls(calls, seccompFilter(plan.network));
	addCloseCalls(calls, command);
	calls.require('start the command', 'clone', [SIGCHLD, 0, 0, 0, 0], {result: program, jump: waitInside});
	addCommandCalls(calls, command);

	calls.place(waitOutside);
	addReleaseCalls(calls, lifeline);
	addCloseInheritedCalls(calls, command);
	calls.attempt('exit_group', [addWaitCalls(calls, init)]);
	calls.place(waitInside);
	addCloseInheritedCalls(calls, command);
	calls.attempt('exit_group', [addWaitCalls(calls, program)]);
	return calls.toProgram();
}

/** The rights of the mounts, without those that are hidden or protected below others, which Landlock cannot take. */
function addSecondWall(calls: CallList, {mounts}: SandboxPlan, version: number): void {
	const own = OWN_TREES.map(path => ({path, rights: WRITE_RIGHTS, isDirectory: true}));
	const shown = mounts.flatMap(({kind, path}): PathGrant[] => {
		if (kind === 'private') return [{path, rights: WRITE_RIGHTS, isDirectory: true}];
		return kind === 'read' || kind === 'write' ? [grantAt(path, kind === 'read' ? READ_RIGHTS : WRITE_RIGHTS)] : [];
	});
	const grants = [{path: '/', rights: LIST_RIGHTS, isDirectory: true}, ...own, ...shown];
	addLandlockCalls(calls, {version, grants, deniesNetwork: false, confinesSignals: false});
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
