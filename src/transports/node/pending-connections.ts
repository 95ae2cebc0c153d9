import type {Socket} from 'node:net';
import {findMostCommon} from '../../shared/fair-share.js';

/** The part of a connection that identifies it. A socket with TLS and the one below it have the same address and port. */
export type PeerSocket = Pick<Socket, 'remoteAddress' | 'remotePort'>;

/**
 * Connections of callers that have not yet shown what they want. When there are too many, the oldest of the address that has most
 * is closed: a caller with a request sends it at once, also one behind the same proxy as those that are idle.
 */
export class PendingConnections {
	readonly #max: number;
	/** Oldest first. */
	readonly #sockets = new Map<unknown, Socket>();

	constructor(max: number) {
		this.#max = max;
	}

	add(socket: Socket): void {
		if (this.#sockets.size >= this.#max) {
			const oldest = findMostCommon(this.#sockets, ([, each]) => each.remoteAddress ?? '');
			if (oldest) this.#close(...oldest);
		}
		const key = keyOf(socket);
		this.#sockets.set(key, socket);
		socket.once('close', () => {
			if (this.#sockets.get(key) === socket) this.#sockets.delete(key);
		});
	}

	has(peer: PeerSocket): boolean {
		return this.#sockets.has(keyOf(peer));
	}

	/** Removes a connection that is not pending any more, and returns its socket; undefined if it was not pending. */
	take(peer: PeerSocket): Socket | undefined {
		const key = keyOf(peer);
		const socket = this.#sockets.get(key);
		this.#sockets.delete(key);
		return socket;
	}

	#close(key: unknown, socket: Socket): void {
		this.#sockets.delete(key);
		socket.destroy();
	}
}

/** A Unix socket has no address. */
export function keyOf(peer: PeerSocket): unknown {
	return peer.remoteAddress === undefined ? peer : `${peer.remoteAddress} ${peer.remotePort}`;
}
