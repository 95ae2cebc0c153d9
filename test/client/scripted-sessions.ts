import {onTestFinished} from 'vitest';
import {SessionClient} from '../../src/client/session/session-client.js';
import {memoryTransportPair} from '../../src/transports/memory.js';
import {eventually} from '../helpers/processes.js';
import {RawPeer} from '../helpers/raw-peer.js';
import type {Asked} from './fake-server.js';

/** Every capability of shared processes. */
export const SHARING = {
	processList: true,
	processAttach: true,
	processShare: true,
	processSpill: true,
	processDurable: true,
	processRecord: true,
	processWaitFor: true,
	processScreen: true,
	processOnDisconnect: true,
};

/** A connection of a client to a server of which each word is the test's own. */
export class ScriptedConnection {
	readonly peer: RawPeer;

	constructor(peer: RawPeer) {
		this.peer = peer;
	}

	async greet(capabilities: Readonly<Record<string, boolean>>): Promise<void> {
		const environmentInfo = {shell: {name: 'sh', path: '/bin/sh'}, capabilities};
		await this.answer('initialize', {sessionId: 'session', environmentInfo});
		await this.peer.next();
	}

	/** The next request, which has to be of this method. */
	async asked(method: string): Promise<Asked> {
		const request = await this.peer.next<Asked>();
		if (request.method !== method) throw new Error(`expected ${method}, got ${request.method}`);
		return request;
	}

	/** Answers the next request; returns its params. */
	async answer(method: string, result: unknown): Promise<Asked['params']> {
		const {id, params} = await this.asked(method);
		this.peer.send({id, result});
		return params;
	}

	async refuse(method: string, error: {message: string; code?: number; data?: unknown}): Promise<Asked['params']> {
		const {id, params} = await this.asked(method);
		this.peer.send({id, error: {code: -32600, ...error}});
		return params;
	}

	notify(method: string, params: unknown): void {
		this.peer.send({method, params});
	}

	output(processId: string, seq: number, text = `${seq},`): void {
		const chunk = Buffer.from(text).toString('base64');
		this.notify('process/output', {processId, seq, stream: 'stdout', chunk});
	}

	cut(): void {
		this.peer.transport.destroy();
	}
}

export interface ScriptedSession {
	readonly client: SessionClient;
	readonly first: ScriptedConnection;
	/** A later connection, with its session resumed. */
	readonly resumed: (index: number) => Promise<ScriptedConnection>;
}

/** A client whose connections are scripted; closed with the test. */
export async function scriptedSession(
	capabilities: Readonly<Record<string, boolean>> = SHARING,
	options: {resumeSessionId?: string} = {},
): Promise<ScriptedSession> {
	const connections: ScriptedConnection[] = [];
	const connect = async () => {
		const [near, far] = memoryTransportPair();
		connections.push(new ScriptedConnection(new RawPeer(far)));
		return near;
	};
	const greeted = async (index: number): Promise<ScriptedConnection> => {
		const connection = await eventually(() => connections[index]);
		await connection.greet(capabilities);
		return connection;
	};
	const opening = SessionClient.open(connect, options);
	const first = await greeted(0);
	const client = await opening;
	onTestFinished(() => client.close());
	return {client, first, resumed: greeted};
}

/** The answer to `process/attach`. */
export function attachment(more: object = {}): object {
	return {processId: 'p', role: 'observe', firstSeq: 1, nextSeq: 1, rows: null, cols: null, driver: null, ...more};
}
