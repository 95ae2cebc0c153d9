import type {Socket} from 'node:net';
import {readProc} from '../../processes/tree/proc.js';
import {findSurplus} from '../../shared/fair-share.js';
import {keyOf, type PeerSocket, PendingConnections} from '../../transports/node/pending-connections.js';
import type {HubTokenKind} from '../store/hub-records.js';

/** Connections of callers that have shown a token or a ticket. */
export const MAX_HUB_CONNECTIONS = 20_000;
/** Connections of callers that have shown none yet; of several addresses none can keep the others out. */
export const MAX_STRANGERS = 2000;
/** Descriptors for everything that is not a connection: files, libraries, NATS, the control socket. */
const RESERVED_DESCRIPTORS = 128;
/** Share of the connections that strangers may have where there are few descriptors. */
const STRANGER_SHARE = 0.25;
const OPEN_FILES = /^Max open files\s+(\d+)/m;

interface Member {
	/** Id of the token. */
	readonly holder: string;
	readonly kind: HubTokenKind;
	readonly socket: Socket;
}

export interface ConnectionLimits {
	readonly members: number;
	readonly strangers: number;
}

/** Open connections to a hub, bounded so that nobody can use up all of them: strangers by address, others by token. */
export class HubConnections {
	readonly #maxMembers: number;
	readonly #strangers: PendingConnections;
	/** By address and port, oldest first. */
	readonly #members = new Map<unknown, Member>();

	constructor({members, strangers}: ConnectionLimits = connectionLimits()) {
		this.#maxMembers = members;
		this.#strangers = new PendingConnections(strangers);
	}

	/** A connection of somebody who has shown nothing yet. */
	add(socket: Socket): void {
		this.#strangers.add(socket);
	}

	/**
	 * The caller has shown a token; false if this token, or all together, have as many connections as they may. Machines make
	 * room for machines only: many of them often have one token.
	 */
	admit(peer: PeerSocket, tokenId: string, kind: HubTokenKind): boolean {
		if (!this.#strangers.has(peer)) return true;
		if (this.#members.size >= this.#maxMembers && !this.#closeSurplus(tokenId, kind)) return false;
		const socket = this.#strangers.take(peer)!;
		const key = keyOf(peer);
		this.#members.set(key, {holder: tokenId, kind, socket});
		socket.once('close', () => {
			if (this.#members.get(key)?.socket === socket) this.#members.delete(key);
		});
		return true;
	}

	#closeSurplus(newcomer: string, kind: HubTokenKind): boolean {
		const candidates = [...this.#members].filter(([, member]) => kind === 'executor' || member.kind === 'client');
		const surplus = findSurplus(candidates, ([, {holder}]) => holder, newcomer);
		if (!surplus) return false;
		const [key, {socket}] = surplus;
		this.#members.delete(key);
		socket.destroy();
		return true;
	}
}

/** As many connections as this process has descriptors for. */
export function connectionLimits(descriptors = readDescriptorLimit()): ConnectionLimits {
	const available = Math.max(1, descriptors - RESERVED_DESCRIPTORS);
	const strangers = Math.max(1, Math.min(MAX_STRANGERS, Math.floor(available * STRANGER_SHARE)));
	return {strangers, members: Math.max(1, Math.min(MAX_HUB_CONNECTIONS, available - strangers))};
}

/** Unlimited where the system does not tell. */
function readDescriptorLimit(): number {
	try {
		return Number(OPEN_FILES.exec(readProc('self/limits'))?.[1] ?? Number.POSITIVE_INFINITY);
	} catch {
		return Number.POSITIVE_INFINITY;
	}
}
