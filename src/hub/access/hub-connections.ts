import type {Socket} from 'node:net';
import {readProc} from '../../processes/tree/proc.js';
import type {HubTokenKind} from '../store/hub-records.js';
import {findMostCommon, findSurplus} from './fair-share.js';

/** Connections of callers that have shown a token or a ticket. */
export const MAX_HUB_CONNECTIONS = 20_000;
/** Connections of callers that have shown none yet; of several addresses none can keep the others out. */
export const MAX_STRANGERS = 2000;
/** Descriptors for everything that is not a connection: files, libraries, NATS, the control socket. */
const RESERVED_DESCRIPTORS = 128;
/** Share of the connections that strangers may have where there are few descriptors. */
const STRANGER_SHARE = 0.25;
const OPEN_FILES = /^Max open files\s+(\d+)/m;

/** The part of a connection that is used here. A socket with TLS and the one below it have the same address and port. */
export type PeerSocket = Pick<Socket, 'remoteAddress' | 'remotePort'>;

interface Connection {
	/** Address of a stranger, id of the token of everybody else. */
	readonly holder: string;
	readonly kind: HubTokenKind | 'stranger';
	readonly socket: Pick<Socket, 'destroy'>;
}

export interface ConnectionLimits {
	readonly members: number;
	readonly strangers: number;
}

/** Open connections to a hub, bounded so that nobody can use up all of them: strangers by address, others by token. */
export class HubConnections {
	readonly #limits: ConnectionLimits;
	/** By address and port, oldest first. */
	readonly #strangers = new Map<string, Connection>();
	readonly #members = new Map<string, Connection>();

	constructor(limits: ConnectionLimits = connectionLimits()) {
		this.#limits = limits;
	}

	/**
	 * A connection of somebody who has shown nothing yet. When there are too many, the oldest of the address that has most is
	 * closed: a caller with a token shows it at once, also one behind the same proxy as those that are idle.
	 */
	add(socket: Socket): void {
		const {remoteAddress: holder = 'unknown'} = socket;
		const key = keyOf(socket);
		if (this.#strangers.size >= this.#limits.strangers) {
			const oldest = findMostCommon(this.#strangers, ([, stranger]) => stranger.holder);
			if (oldest) this.#close(this.#strangers, ...oldest);
		}
		this.#strangers.set(key, {holder, kind: 'stranger', socket});
		socket.once('close', () => {
			if (this.#strangers.get(key)?.socket === socket) this.#strangers.delete(key);
			if (this.#members.get(key)?.socket === socket) this.#members.delete(key);
		});
	}

	/**
	 * The caller has shown a token; false if this token, or all together, have as many connections as they may. Machines make
	 * room for machines only: many of them often have one token.
	 */
	admit(peer: PeerSocket, tokenId: string, kind: HubTokenKind): boolean {
		const key = keyOf(peer);
		const stranger = this.#strangers.get(key);
		if (!stranger) return true;
		if (this.#members.size >= this.#limits.members && !this.#closeSurplus(tokenId, kind)) return false;
		this.#strangers.delete(key);
		this.#members.set(key, {holder: tokenId, kind, socket: stranger.socket});
		return true;
	}

	#closeSurplus(newcomer: string, kind: HubTokenKind): boolean {
		const candidates = [...this.#members].filter(([, member]) => kind === 'executor' || member.kind === 'client');
		const surplus = findSurplus(candidates, ([, {holder}]) => holder, newcomer);
		if (surplus) this.#close(this.#members, ...surplus);
		return surplus !== undefined;
	}

	#close(connections: Map<string, Connection>, key: string, {socket}: Connection): void {
		connections.delete(key);
		socket.destroy();
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

function keyOf({remoteAddress, remotePort}: PeerSocket): string {
	return `${remoteAddress} ${remotePort}`;
}
