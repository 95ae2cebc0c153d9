import {onTestFinished} from 'vitest';
import type {ExecEnvironment} from '../../src/agent-tools/exec-environment.js';
import {type Connect, SessionClient, type SessionClientOptions} from '../../src/client/session/session-client.js';
import {Environment} from '../../src/environments/environment.js';
import type {EnvironmentInfo} from '../../src/protocol/methods/environment-methods.js';
import type {ServerOptions} from '../../src/server/options.js';
import {memoryTransportPair} from '../../src/transports/memory.js';
import {connectWebSocket} from '../../src/transports/node/connect-web-socket.js';
import type {Transport} from '../../src/transports/transport.js';
import {execServer, serving} from '../helpers/serving.js';
import {closeWithTest, ENVIRONMENTS} from '../helpers/transports.js';

/** Opens an environment that is closed with the test. */
export type OpenEnvironment = () => Promise<ExecEnvironment>;

/** Environments every behaviour has to be the same in. */
export const EXEC_ENVIRONMENTS: Record<string, OpenEnvironment> = {
	'a local environment': async () => closeWithTest(Environment.local()),
	'a remote environment': async () => {
		const {url} = await serving();
		return closeWithTest(Environment.remote('remote', {kind: 'websocket', url}));
	},
};

/** The upstream server, where it is installed. */
export const UPSTREAM_ENVIRONMENTS: Record<string, OpenEnvironment> = Object.fromEntries(
	Object.entries(ENVIRONMENTS).filter(([name]) => name === 'WebSocket to the stock codex server'),
);

/** An environment and the session it is made of. */
export interface Link {
	readonly environment: ExecEnvironment;
	readonly client: SessionClient;
	/** The connections so far. */
	readonly transports: Transport[];
	/** True if new connections are refused. */
	isCut: boolean;
}

export async function memoryLink(server: ServerOptions = {}): Promise<Link> {
	const serves = execServer(server);
	return linked(
		async () => {
			const [near, far] = memoryTransportPair();
			serves.accept(far);
			return near;
		},
		{id: 'local', kind: 'local'},
	);
}

export async function webSocketLink(options: SessionClientOptions = {}): Promise<Link> {
	const {url} = await serving();
	return linked(signal => connectWebSocket(url, {...(signal && {signal})}), {id: 'remote', kind: 'remote'}, options);
}

async function linked(
	connect: Connect,
	facts: Pick<ExecEnvironment, 'id' | 'kind'>,
	options: SessionClientOptions = {},
): Promise<Link> {
	const transports: Transport[] = [];
	const state = {isCut: false};
	const client = await SessionClient.open(async signal => {
		if (state.isCut) throw new Error('the network is down');
		const transport = await connect(signal);
		transports.push(transport);
		return transport;
	}, options);
	onTestFinished(async () => {
		client.close();
		await client.ended;
	});
	return Object.assign(state, {client, transports, environment: sessionEnvironment(client, facts)});
}

function sessionEnvironment(client: SessionClient, facts: Pick<ExecEnvironment, 'id' | 'kind'>): ExecEnvironment {
	return {
		...facts,
		processes: client,
		info: () => client.call('environment/info', {}),
		status: async () => {
			await client.status();
			return {kind: 'ready'};
		},
	};
}

/** The same environment, with some of what it tells about itself changed. */
export function telling(environment: ExecEnvironment, changes: Partial<EnvironmentInfo>): ExecEnvironment {
	return {...plain(environment), info: async () => ({...(await environment.info()), ...changes})};
}

/** An environment whose members can be spread. */
export function plain(environment: ExecEnvironment): ExecEnvironment {
	const {id, kind = 'local', processes} = environment;
	const info = () => environment.info();
	return {id, kind, processes, info, status: async () => (await environment.status?.()) ?? {kind: 'ready'}};
}
