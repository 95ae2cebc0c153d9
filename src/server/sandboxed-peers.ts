// Linux only, as sandboxes are.
import {readlinkSync} from 'node:fs';
import {findConnectingProcess} from '../processes/backends/linux/peer-process.js';
import type {ManagedProcess} from '../processes/managed-process.js';
import {listDescendants, readProcessInfo} from '../processes/tree/process-tree.js';
import {findSocketHolders} from '../processes/tree/socket-holders.js';
import {
	isOrphanOf,
	isUnclaimedOrphan,
	listOrphans,
	type OrphanFilter,
	type ProcessRoot,
	toProcessRoot,
} from '../processes/tree/subreaper.js';
import type {LocalPeer} from '../transports/node/peer-owner.js';

/** Most ancestors that are followed; a longer line is not believed. */
const MAX_ANCESTORS = 4096;
/**
 * Connections are looked at for this long after the last sandbox with a network has ended. The kernel sends later what a
 * process wrote before, and a socket stays open while it is in the queue of another one, or its process takes long to die.
 */
export const SANDBOX_LINGER_MS = 60_000;
/** Ended sandboxes that are remembered before those without a living descendant are forgotten. */
const MAX_ENDED_SANDBOXES = 256;
const REFUSAL = 'connections from a sandbox of this server are refused';
const DOUBT = 'it cannot be told that this connection does not come from a sandbox of this server; use a token';

/** Knows whether connections have to be looked at, without a look at every process for each of them. */
export class SandboxWatch {
	/** Processes that may run, and some that have ended. */
	readonly #sandboxed = new Set<ManagedProcess>();
	/** When the last sandbox with a network ended; monotonic. */
	endedAt = Number.NEGATIVE_INFINITY;
	/** Sandboxed processes that have ended, and whose descendants may still run. */
	#ended: readonly ProcessRoot[] = [];

	/** Call for every process. */
	add(process: ManagedProcess): void {
		if (!process.options.isSandboxed) return;
		this.#dropEnded();
		this.#sandboxed.add(process);
	}

	/** Call when a process has exited, and when it is forgotten while it is being killed. */
	noteEnd({options, state, leader}: ManagedProcess): void {
		if (!options.isSandboxed || state.kind === 'closed') return;
		if (options.isSandboxedWithNetwork) this.endedAt = performance.now();
		if (leader) this.rememberEnded([toProcessRoot(leader)]);
	}

	/** Watches the descendants of these sandboxed processes, which have ended. */
	rememberEnded(roots: readonly ProcessRoot[]): void {
		const known = this.#ended.length < MAX_ENDED_SANDBOXES ? this.#ended : this.listEndedWithDescendants();
		this.#ended = [...known.filter(({pid}) => !roots.some(root => root.pid === pid)), ...roots];
	}

	/** Sandboxed processes that have ended while some of their descendants still run. */
	listEndedWithDescendants(): readonly ProcessRoot[] {
		const orphans = this.#ended.length === 0 ? [] : listOrphans();
		return orphans.length === 0 ? [] : this.#ended.filter(root => orphans.some(mayDescendFrom(root)));
	}

	/**
	 * Time since the last sandbox with a network has ended; infinite if there was none, and zero while descendants of one
	 * that has ended still run.
	 */
	get sinceEndMs(): number {
		return this.listEndedWithDescendants().length > 0 ? 0 : performance.now() - this.endedAt;
	}

	/** No process is in a sandbox, nor was one lately. */
	get isOver(): boolean {
		this.#dropEnded();
		return this.#sandboxed.size === 0 && this.sinceEndMs >= SANDBOX_LINGER_MS;
	}

	#dropEnded(): void {
		for (const process of this.#sandboxed) {
			if (['closed', 'lost', 'failed'].includes(process.state.kind)) this.#sandboxed.delete(process);
		}
	}
}

/** Accepts orphans of a process. Those without any tag may descend from a process that has none. */
function mayDescendFrom(root: ProcessRoot): OrphanFilter {
	const [isOrphan, isUnclaimed] = [isOrphanOf([root]), isUnclaimedOrphan(root)];
	return orphan => isOrphan(orphan) || (root.tag === undefined && isUnclaimed(orphan));
}

/**
 * Why a connection from this machine is refused; undefined lets it in. A process in a sandbox would otherwise become a
 * client of the server that put it there, and start others without one. While there is such a process, and for a while
 * after, the process at the other end has to be found outside of all sandboxes.
 */
export function refuseSandboxedPeer(
	peer: LocalPeer,
	processes: Iterable<ManagedProcess>,
	{hasToken, sinceSandboxMs, keepers = []}: PeerCircumstances,
): string | undefined {
	const [sandboxed, free] = partitionRunning(processes);
	const line: Ancestry = {parents: new Set([process.pid, ...keepers]), free, sandboxed};
	const isLingering = sinceSandboxMs < SANDBOX_LINGER_MS;
	if (sandboxed.size === 0 && !isLingering) return undefined;
	if (peer.kind === 'unix') {
		const pid = peer.fd === undefined ? undefined : findConnectingProcess(peer.fd);
		return pid !== undefined && isOutside(pid, line) ? undefined : REFUSAL;
	}
	const reaching = [...sandboxed].map(listReaching).filter(pids => pids !== undefined);
	if (reaching.length === 0 && !isLingering) return undefined;
	const owner = peer.findOwner();
	// A sandbox has no user but the server's own.
	if (owner && owner.userId !== process.geteuid!()) return undefined;
	const {pids, hidden} = owner ? findSocketHolders(owner.inode, owner.userId) : {pids: [], hidden: []};
	if (pids.length > 0) return pids.every(pid => isOutside(pid, line)) ? undefined : REFUSAL;
	// Without one that could hide it no process has the socket, and one in a sandbox may be the one.
	const confined = new Set(reaching.flat());
	if (hidden.length === 0 || hidden.some(pid => confined.has(pid))) return REFUSAL;
	return hasToken ? undefined : DOUBT;
}

export interface PeerCircumstances {
	/** Lets a client in that hides its descriptors even from its own user: tokens are kept from sandboxes. */
	readonly hasToken: boolean;
	/** Time since the last sandbox with a network has ended with all its descendants; infinite if there was none. */
	readonly sinceSandboxMs: number;
	/** Programs that run processes for this server. */
	readonly keepers?: readonly number[];
}

interface Ancestry {
	/** This server and its keepers. */
	readonly parents: ReadonlySet<number>;
	/** Their children, and those of them that are in a sandbox. */
	readonly free: ReadonlySet<number>;
	readonly sandboxed: ReadonlySet<number>;
}

/** Pids of running processes, those in a sandbox first. */
function partitionRunning(processes: Iterable<ManagedProcess>): [Set<number>, Set<number>] {
	const [sandboxed, free] = [new Set<number>(), new Set<number>()];
	for (const {state, pid, options} of processes) {
		if (pid === undefined || state.kind === 'closed' || state.kind === 'lost') continue;
		(options.isSandboxed ? sandboxed : free).add(pid);
	}
	return [sandboxed, free];
}

/**
 * Whether the ancestors of a process lead past this server, or to a process that it started without a sandbox. An orphan
 * that this server took in may come from anywhere, and this server itself connects to itself for a client only.
 */
function isOutside(pid: number, {parents, free, sandboxed}: Ancestry): boolean {
	let current = pid;
	for (let steps = 0; steps < MAX_ANCESTORS; steps++) {
		if (current === process.pid || sandboxed.has(current)) return false;
		const info = readProcessInfo(current);
		if (!info) return false;
		if (parents.has(info.parentPid)) return free.has(current);
		if (info.parentPid === 0) return true;
		current = info.parentPid;
	}
	return false;
}

/** Processes below the wrapper of a sandbox if one of them is in the network namespace of this server, else undefined. */
function listReaching(wrapper: number): number[] | undefined {
	const ours = readlinkSync('/proc/self/ns/net');
	const below = listDescendants(wrapper);
	// A wrapper that has started nothing yet is no program of a client's, but soon will.
	const reaches = below.length === 0 || below.some(({pid}) => networkOf(pid, ours) === ours);
	return reaches ? below.map(({pid}) => pid) : undefined;
}

/** In doubt it is ours. */
function networkOf(pid: number, ours: string): string {
	try {
		return readlinkSync(`/proc/${pid}/ns/net`);
	} catch {
		return ours;
	}
}
