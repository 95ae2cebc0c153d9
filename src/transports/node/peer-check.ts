import type {Socket} from 'node:net';
import {isOfThisMachine} from './own-addresses.js';
import {createPeerOwners, createUserCheck, type LocalPeer, type PeerOwner, type PeerOwners} from './peer-owner.js';

export interface PeerCheckOptions {
	/** Why a connection from this machine is refused; undefined lets it in. */
	readonly refuseLocalPeer: ((peer: LocalPeer) => string | undefined) | undefined;
	/** Whether only processes of this user may use a connection. */
	readonly isForThisUser: (socket: Socket) => boolean;
}

/** Looks up each connection at most once, and those of other machines never. `users` gets the users that were found. */
export function createPeerCheck(
	{isForThisUser, refuseLocalPeer}: PeerCheckOptions,
	users: WeakMap<Socket, number>,
): (socket: Socket) => string | undefined {
	const refuseStranger = createUserCheck();
	let owners: PeerOwners | undefined;
	return socket => {
		const isGuarded = isForThisUser(socket);
		if (!isGuarded && (!refuseLocalPeer || !isOfThisMachine(socket.remoteAddress ?? ''))) return undefined;
		let found: {readonly owner: PeerOwner | undefined} | undefined;
		const findOwner = (): PeerOwner | undefined => {
			owners ??= createPeerOwners();
			found ??= {owner: owners.find(socket)};
			if (found.owner) users.set(socket, found.owner.userId);
			return found.owner;
		};
		return (isGuarded ? refuseStranger(findOwner) : undefined) ?? refuseLocalPeer?.({kind: 'tcp', findOwner});
	};
}
