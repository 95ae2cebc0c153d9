import type {ClientConnection} from '../../src/server/connection/client-connection.js';
import type {ExecServer} from '../../src/server/server.js';
import {eventually} from './processes.js';
import type {TestClient} from './test-client.js';

/** The server's side of a client: its end of the connection, the server itself, or the URL of one in another process. */
type ServerSide = {readonly end: ClientConnection} | {readonly server: ExecServer} | {readonly url: string};

/** Drops the connection of a client and waits until the server has noticed. */
export async function disconnect({client, ...side}: {readonly client: TestClient} & ServerSide): Promise<void> {
	if ('end' in side) {
		const noticed = new Promise<void>(resolve => side.end.lifetime.add(resolve));
		client.rpc.destroy();
		await noticed;
	} else if ('server' in side) {
		const before = side.server.health()['connections'] as number;
		client.rpc.destroy();
		await eventually(() => side.server.health()['connections'] === before - 1);
	} else {
		const before = await countConnections(side.url);
		client.rpc.destroy();
		while ((await countConnections(side.url)) !== before - 1);
	}
}

async function countConnections(url: string): Promise<number> {
	const response = await fetch(`${url.replace('ws:', 'http:')}/healthz`);
	return ((await response.json()) as {connections: number}).connections;
}
