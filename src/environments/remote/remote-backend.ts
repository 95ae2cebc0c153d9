import type {Files} from '../../client/files/files.js';
import type {Http} from '../../client/http/http.js';
import type {Ports} from '../../client/ports/ports.js';
import type {Processes} from '../../client/process/process-handle.js';
import {ProtocolError} from '../../client/session/client-errors.js';
import type {ServerDescription} from '../../client/session/connection.js';
import type {DisconnectListener, RemoteStatus} from '../../client/session/lazy-client.js';
import {LazyClient} from '../../client/session/lazy-client.js';
import type {Connect, SessionClient} from '../../client/session/session-client.js';
import type {EnvironmentInfo} from '../../protocol/methods/environment-methods.js';
import {errorMessage} from '../../shared/errors.js';
import {isTransportTarget, schemeOf} from '../../transports/node/registry.js';
import {isPoolTarget} from '../../transports/node/registry-scheme.js';
import type {EnvironmentBackend} from '../environment-backend.js';
import {type RemoteTarget, readTarget} from './remote-target.js';

/** Another machine. Begins to connect in the background where that costs nothing but a socket. */
export class RemoteBackend implements EnvironmentBackend {
	readonly processes: Processes;
	readonly #target: RemoteTarget;
	readonly #lazy: LazyClient;
	readonly #connect = (): Promise<SessionClient> => this.#lazy.client();
	#files: Promise<Files> | undefined;
	#http: Promise<Http> | undefined;
	#ports: Promise<Ports> | undefined;

	constructor(target: RemoteTarget) {
		this.#target = target;
		this.#lazy = lazyClientFor(target);
		if (mayWarmUp(target)) this.#lazy.warmUp();
		this.processes = this.createProcesses();
	}

	/** Processes of the server itself. */
	protected createProcesses(): Processes {
		return {
			start: async (params, options) => (await this.#connect()).start(params, options),
			list: async options => (await this.#connect()).list(options),
			attach: async (idOrName, options) => (await this.#connect()).attach(idOrName, options),
			reference: async idOrName => (await this.#connect()).reference(idOrName),
		};
	}

	loadFiles(): Promise<Files> {
		this.#files ??= import('../../client/files/remote/remote-files.js').then(
			loaded => new loaded.RemoteFiles(this.#connect),
		);
		return this.#files;
	}

	loadHttp(): Promise<Http> {
		this.#http ??= import('../../client/http/remote-http.js').then(loaded => new loaded.RemoteHttp(this.#connect));
		return this.#http;
	}

	loadPorts(): Promise<Ports> {
		this.#ports ??= import('../../client/ports/remote-ports.js').then(loaded => new loaded.RemotePorts(this.#connect));
		return this.#ports;
	}

	async member(): Promise<string | undefined> {
		const target = this.#target;
		if (target.kind !== 'registry' || !isPoolTarget(target)) return undefined;
		await this.#connect();
		const {findPlacement} = await import('../../transports/node/relay/connect-through-hub.js');
		return findPlacement(target);
	}

	async server(): Promise<ServerDescription> {
		return (await this.#connect()).describe();
	}

	async sessionId(): Promise<string | undefined> {
		return (await this.#connect()).sessionId;
	}

	async upgrade(to?: string): Promise<ServerDescription> {
		return (await this.#connect()).upgrade(to);
	}

	async info(): Promise<EnvironmentInfo> {
		const {info} = await this.server();
		if (!info) throw new ProtocolError('the server is too old to describe itself');
		return info;
	}

	status(): Promise<RemoteStatus> {
		return this.#lazy.status();
	}

	onDisconnect(listener: DisconnectListener): () => void {
		return this.#lazy.onDisconnect(listener);
	}

	close(): Promise<void> {
		return this.#lazy[Symbol.asyncDispose]();
	}
}

/** A client for the target that connects when it is needed. */
export function lazyClientFor(target: RemoteTarget): LazyClient {
	const {clientName, initializeTimeoutMs, resumeSessionId, recoveryBudgetMs, recovers = true} = target;
	const reconnects = canReconnect(target);
	const connect = connectorFor(target);
	const connectUnreferenced: Connect = async signal => {
		const transport = await connect(signal);
		// The client keeps the program alive while something is waited for; an idle connection does not.
		transport.unref?.();
		return transport;
	};
	return new LazyClient(connectUnreferenced, {
		recovers: recovers && reconnects,
		reconnects,
		...(clientName !== undefined && {clientName}),
		...(initializeTimeoutMs !== undefined && {initializeTimeoutMs}),
		...(resumeSessionId !== undefined && {resumeSessionId}),
		...(recoveryBudgetMs !== undefined && {recoveryBudgetMs}),
	});
}

/** Whether connecting costs nothing but a socket; a command would be started, and a slot of a pool taken, for nothing. */
export function mayWarmUp(target: RemoteTarget): boolean {
	if (target.kind === 'registry' && isPoolTarget(target)) return false;
	return isTransportTarget(target) && !schemeOf(target).startsServer;
}

/** Whether the server outlives a connection. */
function canReconnect(target: RemoteTarget): boolean {
	if (isTransportTarget(target)) return !schemeOf(target).startsServer;
	return target.kind === 'provisioned' || target.recovers !== false;
}

/** A function that connects to the target, as often as it is called. */
export function connectorFor(target: RemoteTarget): Connect {
	if (isTransportTarget(target)) return signal => schemeOf(target).connect(target, signal);
	if (target.kind === 'transport') return target.connect;
	return async signal => connectorFor(await waitForTarget(target.target))(signal);
}

async function waitForTarget(target: Promise<RemoteTarget>): Promise<RemoteTarget> {
	try {
		return readTarget(await target);
	} catch (cause) {
		throw new Error(`environment unavailable: ${errorMessage(cause)}`, {cause});
	}
}
