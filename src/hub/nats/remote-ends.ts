import type {HarnessRoute} from '../cluster/hub-cluster.js';
import type {Relay} from '../relay/relay.js';
import type {ExecutorEnd, HarnessEnd, RelaySocket} from '../relay/relay-ends.js';
import type {LinkSocket, NodeLink} from './node-link.js';

/** Bytes of a client that wait for credit; beyond them it is not read. */
const MAX_WAITING_BYTES = 64 * 1024;

/** At the executor's node: a client that is connected to another node, in the place of its socket. */
export class RemoteHarness implements RelaySocket, LinkSocket {
	readonly #relay: Relay;
	readonly #link: NodeLink;
	#end: HarnessEnd | undefined;

	private constructor(relay: Relay, link: NodeLink) {
		this.#relay = relay;
		this.#link = link;
	}

	/** False if the executor has as many clients as it may. */
	static join(relay: Relay, executor: ExecutorEnd, tokenId: string, link: NodeLink): boolean {
		const harness = new RemoteHarness(relay, link);
		harness.#end = relay.addHarness(executor, tokenId, harness);
		if (!harness.#end) return false;
		link.join(harness);
		return true;
	}

	// Frames of the executor, to the other node.

	get backlog(): number {
		return this.#link.backlog;
	}

	send(bytes: Uint8Array): void {
		this.#link.send(bytes);
	}

	pause(): void {
		this.#link.hold(true);
	}

	resume(): void {
		this.#link.hold(false);
	}

	close(code?: number): void {
		this.#link.close(code);
		this.#leave();
	}

	destroy(): void {
		this.close();
	}

	// Frames of the client, from the other node.

	/** Behind the relay is the executor's socket, whose backlog pauses this end. */
	readonly undelivered = 0;

	deliver(payload: Uint8Array): void {
		if (this.#end) this.#relay.receiveFromHarness(this.#end, payload);
	}

	writable(): void {
		if (this.#end) this.#relay.harnessDrained(this.#end);
	}

	ended(): void {
		this.#leave();
	}

	#leave(): void {
		const end = this.#end;
		this.#end = undefined;
		if (end) this.#relay.removeHarness(end);
	}
}

/** At the client's node: the way to an executor that is connected to another node. */
export class RemoteRoute implements HarnessRoute, LinkSocket {
	readonly #link: NodeLink;
	readonly #over: () => void;
	#socket: RelaySocket | undefined;
	#isPaused = false;

	/** `over` is called once, when the route is not used any more. */
	constructor(link: NodeLink, over: () => void) {
		this.#link = link;
		this.#over = over;
		link.join(this);
	}

	get backlog(): number {
		return this.#link.backlog;
	}

	attach(socket: RelaySocket): boolean {
		if (this.#link.isClosed) return false;
		this.#socket = socket;
		return true;
	}

	receive(bytes: Uint8Array): void {
		this.#link.send(bytes);
		if (this.#link.hasRoom || this.#isPaused || this.#link.backlog < MAX_WAITING_BYTES) return;
		this.#isPaused = true;
		this.#socket?.pause();
	}

	drained(): void {
		this.#link.acknowledge(false);
	}

	close(): void {
		this.#link.close();
		this.#over();
	}

	get undelivered(): number {
		return this.#socket?.backlog ?? 0;
	}

	deliver(payload: Uint8Array): void {
		// An executor says nothing before the client has begun.
		if (this.#socket) this.#socket.send(payload);
		else this.#link.close();
	}

	writable(): void {
		if (!this.#isPaused || !this.#link.hasRoom) return;
		this.#isPaused = false;
		this.#socket?.resume();
	}

	ended(code: number): void {
		this.#over();
		this.#socket?.close(code);
	}
}
