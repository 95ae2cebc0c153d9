// Linux only, as sandboxes are.
import {readlinkSync} from 'node:fs';
import {findConnectingProcess} from '../processes/backends/linux/peer-process.js';
import type {ManagedProcess} from '../processes/managed-process.js';
import {listDescendants, readProcessInfo} from '../processes/tree/process-tree.js';
import {findSocketHolders} from '../processes/tree/socket-holders.js';
import type {LocalPeer} from '../transports/node/peer-owner.js';

/** Most ancestors that are followed; a longer line is not believed. */
const MAX_ANCESTORS = 4096;
const REFUSAL = 'connections from a sandbox of this server are refused';
const DOUBT = 'it cannot be told that this connection does not come from a sandbox of this server; use a token';

/**
 * Why a connection from this machine is refused; undefined lets it in. A process in a sandbox would otherwise become a
 * client of the server that put it there, and start others without one. While there is such a process, the process at
 * the other end has to be found outside of all sandboxes. `hasToken` lets a client in that hides its descriptors even
 * from its own user: tokens are kept from sandboxes.
 */
export function refuseSandboxedPeer(
	peer: LocalPeer,
	processes: Iterable<ManagedProcess>,
	hasToken: boolean,
): string | undefined {
	const [sandboxed, free] = partitionRunning(processes);
	if (sandboxed.size === 0) return undefined;
	if (peer.kind === 'unix') {
		const pid = peer.fd === undefined ? undefined : findConnectingProcess(peer.fd);
		return pid !== undefined && isOutside(pid, free, sandboxed) ? undefined : REFUSAL;
	}
	const reaching = [...sandboxed].filter(reachesOurNetwork);
	if (reaching.length === 0) return undefined;
	const owner = peer.findOwner();
	// A sandbox has no user but the server's own.
	if (owner && owner.userId !== process.geteuid!()) return undefined;
	const {pids, isIncomplete} = owner ? findSocketHolders(owner.inode, owner.userId) : {pids: [], isIncomplete: false};
	if (pids.length > 0) return pids.every(pid => isOutside(pid, free, sandboxed)) ? undefined : REFUSAL;
	if (!isIncomplete) return REFUSAL;
	return hasToken ? undefined : DOUBT;
}

/** Pids of running processes, those in a sandbox first. */
function partitionRunning(processes: Iterable<ManagedProcess>): [Set<number>, Set<number>] {
	const [sandboxed, free] = [new Set<number>(), new Set<number>()];
	for (const {state, pid, options} of processes) {
		if (pid === undefined || state.kind === 'closed') continue;
		(options.isSandboxed ? sandboxed : free).add(pid);
	}
	return [sandboxed, free];
}

/**
 * Whether the ancestors of a process lead past this server, or to a process that it started without a sandbox. An orphan
 * that this server took in may come from anywhere, and this server itself connects to itself for a client only.
 */
function isOutside(pid: number, free: ReadonlySet<number>, sandboxed: ReadonlySet<number>): boolean {
	let current = pid;
	for (let steps = 0; steps < MAX_ANCESTORS; steps++) {
		if (current === process.pid || sandboxed.has(current)) return false;
		const info = readProcessInfo(current);
		if (!info) return false;
		if (info.parentPid === process.pid) return free.has(current);
		if (info.parentPid === 0) return true;
		current = info.parentPid;
	}
	return false;
}

/** Whether something below the wrapper of a sandbox is in the network namespace of this server. */
function reachesOurNetwork(wrapper: number): boolean {
	const ours = readlinkSync('/proc/self/ns/net');
	const below = listDescendants(wrapper);
	// A wrapper that has started nothing yet is no program of a client's, but soon will.
	return below.length === 0 || below.some(({pid}) => networkOf(pid, ours) === ours);
}

/** In doubt it is ours. */
function networkOf(pid: number, ours: string): string {
	try {
		return readlinkSync(`/proc/${pid}/ns/net`);
	} catch {
		return ours;
	}
}
