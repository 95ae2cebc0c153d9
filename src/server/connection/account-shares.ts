import type {Transport} from '../../transports/transport.js';
import {accountOf, type Grant} from '../auth/grant.js';
import {PartialMessages} from './partial-messages.js';
import {ReplyShare} from './reply-share.js';

/** Memory and time of the server that the connections of one account share. */
export class AccountShare {
	readonly replies = new ReplyShare();
	readonly partialMessages = new PartialMessages();
	/** Connections that use it; it is deleted with the last. */
	users = 0;
}

/** Shares by account, for as long as an account has a connection. */
export class AccountShares {
	readonly #shares = new Map<string, AccountShare>();

	/** Call `leave` once, when the connection has closed. */
	open(account: string): {readonly share: AccountShare; readonly leave: () => void} {
		const share = this.#shares.get(account) ?? new AccountShare();
		this.#shares.set(account, share);
		share.users++;
		const leave = (): void => {
			if (--share.users === 0) this.#shares.delete(account);
		};
		return {share, leave};
	}
}

/** Key that limits of a connection are counted by: its token, or the address that it comes from. */
export function accountKey(grant: Grant | undefined, {kind, peer}: Pick<Transport, 'kind' | 'peer'>): string {
	return accountOf(grant) ?? (kind === 'websocket' ? peer.replace(/:\d+$/, '') : kind);
}
