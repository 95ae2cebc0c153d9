import type {Relay} from '../relay/relay.js';
import type {ExecutorEnd, HarnessEnd, RelaySocket} from '../relay/relay-ends.js';
import type {HarnessRoute} from './hub-cluster.js';

/** Way of a client to an executor of the same node: no more than calls. */
export class LocalRoute implements HarnessRoute {
	readonly #relay: Relay;
	readonly #executor: ExecutorEnd;
	readonly #tokenId: string;
	#harness: HarnessEnd | undefined;

	constructor(relay: Relay, executor: ExecutorEnd, tokenId: string) {
		this.#relay = relay;
		this.#executor = executor;
		this.#tokenId = tokenId;
	}

	get backlog(): number {
		return this.#executor.socket.backlog;
	}

	attach(socket: RelaySocket): boolean {
		// It may have gone during the upgrade.
		if (this.#relay.findRegistration(this.#executor.registrationId) !== this.#executor) return false;
		this.#harness = this.#relay.addHarness(this.#executor, this.#tokenId, socket);
		return this.#harness !== undefined;
	}

	receive(bytes: Uint8Array): void {
		if (this.#harness) this.#relay.receiveFromHarness(this.#harness, bytes);
	}

	drained(): void {
		if (this.#harness) this.#relay.harnessDrained(this.#harness);
	}

	close(): void {
		if (this.#harness) this.#relay.removeHarness(this.#harness);
	}
}
