import {onTestFinished} from 'vitest';
import {SessionClient} from '../../src/client/session/session-client.js';
import {memoryTransportPair} from '../../src/transports/memory.js';
import {RawPeer} from '../helpers/raw-peer.js';

export interface Asked {
	readonly id: number;
	readonly method: string;
	readonly params: Record<string, unknown>;
}

/** A server of which every word is the test's own. */
export class FakeServer {
	readonly client: SessionClient;
	readonly peer: RawPeer;

	/** Greets a client that does not come back when the link is lost. */
	static async greet(capabilities: Record<string, boolean> = {}): Promise<FakeServer> {
		const [near, far] = memoryTransportPair();
		const peer = new RawPeer(far);
		const opening = SessionClient.open(async () => near, {recovers: false});
		const {id} = await peer.next<Asked>();
		const environmentInfo = {shell: {name: 'sh', path: '/bin/sh'}, capabilities};
		peer.send({id, result: {sessionId: 'session', environmentInfo}});
		const client = await opening;
		await peer.next();
		onTestFinished(() => client.close());
		return new FakeServer(client, peer);
	}

	private constructor(client: SessionClient, peer: RawPeer) {
		this.client = client;
		this.peer = peer;
	}

	/** The next request; it has to be of this method. */
	async asked(method: string): Promise<Asked> {
		const request = await this.peer.next<Asked>();
		if (request.method !== method) throw new Error(`expected ${method}, got ${request.method}`);
		return request;
	}

	async answer(method: string, result: unknown): Promise<Asked> {
		const request = await this.asked(method);
		this.peer.send({id: request.id, result});
		return request;
	}

	notify(method: string, params: unknown): void {
		this.peer.send({method, params});
	}
}
