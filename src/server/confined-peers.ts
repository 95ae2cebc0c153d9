// Linux only, as sandboxes are.
import {FOREIGN_PID, findConnectingProcess} from '../processes/backends/linux/peer-process.js';
import {descendsFromLongarm, isConfined} from '../processes/tree/confinement.js';
import {findSocketHolders, listPids, type SocketHolders} from '../processes/tree/socket-holders.js';
import type {LocalPeer, PeerOwner} from '../transports/node/peer-owner.js';

/**
 * Sandboxes whose processes are refused: `all` of them, or those that a longarm program has started. The second is for
 * connections that need something else as well, and for ports that a browser in a sandbox of the system opens.
 */
export type RefusedSandboxes = 'all' | 'longarm';

const REFUSAL = 'connections from a sandbox are refused';
const DOUBT = 'it cannot be told that this connection does not come from a sandbox; use a token';

/**
 * Why a connection from this machine is refused; undefined lets it in. A process in a sandbox with a network would otherwise
 * use a program outside of it as its own hands.
 */
export function refuseConfinedPeer(peer: LocalPeer, which: RefusedSandboxes): string | undefined {
	if (process.platform !== 'linux') return undefined;
	// A sandbox has no user but the one of the program that made it.
	if (peer.kind === 'tcp' && isOfOtherUser(peer.findOwner())) return undefined;
	const isRefused = (pid: number): boolean => isConfined(pid) && (which === 'all' || descendsFromLongarm(pid));
	const {pids, hidden} = findHolders(peer);
	const [holder] = pids;
	// Sandboxes of this machine are below this namespace of processes, or in it.
	if (holder === FOREIGN_PID) return undefined;
	if (holder !== undefined) return isRefused(holder) ? REFUSAL : undefined;
	// The process hides its descriptors, as sshd does, or it has left the socket in the queue of another one.
	const isHarmless = which === 'longarm' && hidden.length > 0 && !listPids().some(isRefused);
	return isHarmless ? undefined : DOUBT;
}

function isOfOtherUser(owner: PeerOwner | undefined): boolean {
	return owner !== undefined && owner.userId !== process.geteuid!();
}

/** Processes at the far end. One that has the socket is enough: whoever has it besides was given it by that one. */
function findHolders(peer: LocalPeer): SocketHolders {
	if (peer.kind === 'unix') {
		const pid = peer.fd === undefined ? undefined : findConnectingProcess(peer.fd);
		return {pids: pid === undefined ? [] : [pid], hidden: []};
	}
	const owner = peer.findOwner();
	return owner ? findSocketHolders(owner.inode, owner.userId, 1) : {pids: [], hidden: []};
}
