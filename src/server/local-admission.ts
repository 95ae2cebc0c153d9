import type {Socket} from 'node:net';
import {createPeerCheck} from '../transports/node/peer-check.js';
import {type RefusedSandboxes, refuseConfinedPeer} from './confined-peers.js';

export interface AdmissionOptions {
	/** Whether only programs of this user on this machine may use the port: a port says nothing about who connects to it. */
	readonly isForThisUser: boolean;
	readonly sandboxes: RefusedSandboxes;
}

/**
 * Decides about the connections to a port of a listener that is no exec server. The returned function tells why one is refused;
 * undefined lets it in. Each is looked up once. Only Linux tells who is at the other end; elsewhere all are let in.
 */
export function createAdmission({isForThisUser, sandboxes}: AdmissionOptions): (socket: Socket) => string | undefined {
	if (process.platform !== 'linux') return () => undefined;
	const known = new WeakMap<Socket, {readonly refusal: string | undefined}>();
	const check = createPeerCheck(
		{isForThisUser: () => isForThisUser, refuseLocalPeer: peer => refuseConfinedPeer(peer, sandboxes)},
		new WeakMap(),
	);
	return socket => {
		const judged = known.get(socket) ?? {refusal: check(socket)};
		known.set(socket, judged);
		return judged.refusal;
	};
}
