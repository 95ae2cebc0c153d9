import {decode} from '../../protocol/wire/decode.js';
import type {Notification} from '../../protocol/wire/envelope.js';
import {METHOD_NOT_FOUND, RpcError} from '../../protocol/wire/error-codes.js';
import {RpcConnection} from '../../rpc/rpc-connection.js';
import {connectUnixSocket} from '../../transports/node/connect-web-socket.js';
import {KEEPER_METHODS, type KeeperMethod, type KeeperParamsOnWire, type KeeperResult} from './keeper-methods.js';

/** How long a keeper may take to answer a new connection, and each of its first requests. */
export const KEEPER_ANSWER_MS = 5000;

export interface KeeperLinkEvents {
	/** An event of a process. */
	notification(notification: Notification): void;
	/** Once, whoever ended it. */
	closed(): void;
}

/** A connection to a keeper, of which this server is the client. */
export class KeeperLink {
	readonly #rpc: RpcConnection;

	private constructor(rpc: RpcConnection) {
		this.#rpc = rpc;
	}

	static async connect(socket: string, events: KeeperLinkEvents): Promise<KeeperLink> {
		const signal = AbortSignal.timeout(KEEPER_ANSWER_MS);
		const rpc = new RpcConnection(await connectUnixSocket(socket, {signal}), 'client', {
			request: ({method}) => {
				throw new RpcError(METHOD_NOT_FOUND, `unexpected \`${method}\``);
			},
			notification: notification => {
				events.notification(notification);
				return true;
			},
			closed: () => events.closed(),
		});
		rpc.open();
		try {
			await rpc.request('initialize', {clientName: 'longarm'}, {signal});
			rpc.notify('initialized', {});
			return new KeeperLink(rpc);
		} catch (error) {
			rpc.destroy();
			throw error;
		}
	}

	/** A request of the protocol about a process. */
	request(method: string, params: unknown): Promise<unknown> {
		return this.#rpc.request(method, params);
	}

	/** A request that only keepers answer; rejects after `timeoutMs` if one is given. */
	async ask<M extends KeeperMethod>(
		method: M,
		params: KeeperParamsOnWire<M>,
		timeoutMs?: number,
	): Promise<KeeperResult<M>> {
		const options = timeoutMs === undefined ? {} : {signal: AbortSignal.timeout(timeoutMs)};
		return decode(KEEPER_METHODS[method].result, await this.#rpc.request(method, params, options));
	}

	close(): void {
		this.#rpc.destroy();
	}
}
