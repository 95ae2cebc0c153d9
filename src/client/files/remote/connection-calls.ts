import type {ParamsOnWire, RequestName, Result} from '../../../protocol/methods/method-table.js';
import type {JsonParts} from '../../../protocol/wire/encode.js';
import type {DisconnectedError} from '../../../rpc/disconnected-error.js';
import type {SessionClient} from '../../session/session-client.js';

/**
 * Calls about a resource that belongs to a connection and not to the session: once the connection is lost they fail, even
 * if the session resumes over another one, where the resource does not exist.
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
		// The call was made while the session was being resumed, on a connection that is lost, too.
		if (this.#lost) throw this.#lost;
		return result;
	}

	/** Makes a call that releases the resource, without waiting; a lost connection has released it already. */
	release<M extends RequestName>(method: M, params: ParamsOnWire<M>): void {
		this.#stopListening();
		if (!this.#lost) this.#client.call(method, params).catch(() => {});
	}

	/** Stops watching the connection; the resource is released. */
	end(): void {
		this.#stopListening();
	}
}
