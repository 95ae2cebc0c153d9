import type {ParamsOnWire, RequestName, Result} from '../../../protocol/methods/method-table.js';
import type {JsonParts} from '../../../protocol/wire/encode.js';
import type {DisconnectedError} from '../../../rpc/disconnected-error.js';
import type {SessionClient} from '../../session/session-client.js';

/**
 * Calls about something that belongs to a connection and not to the session: once that is lost they fail, even if the
 * session goes on over another one, where nobody knows what they are about.
 */
export class ConnectionCalls {
	readonly #client: SessionClient;
	readonly #stopListening: () => void;
	#lost: DisconnectedError | undefined;

	constructor(client: SessionClient, lost: (error: DisconnectedError) => void = () => {}) {
		this.#client = client;
		this.#stopListening = client.onDisconnect(error => {
			if (this.#lost) return;
			this.#lost = error;
			lost(error);
		});
	}

	async call<M extends RequestName>(method: M, params: ParamsOnWire<M> | JsonParts): Promise<Result<M>> {
		if (this.#lost) throw this.#lost;
		const result = await this.#client.call(method, params);
		// Made while the session was being resumed, on a connection that is gone too.
		if (this.#lost) throw this.#lost;
		return result;
	}

	/** For what gives something back: nobody waits for it, and without the connection it is done already. */
	release<M extends RequestName>(method: M, params: ParamsOnWire<M>): void {
		this.#stopListening();
		if (!this.#lost) this.#client.call(method, params).catch(() => {});
	}

	/** Nothing belongs to the connection any more. */
	end(): void {
		this.#stopListening();
	}
}
