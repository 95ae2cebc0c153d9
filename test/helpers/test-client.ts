import {WebSocket} from 'ws';
import {RpcConnection} from '../../src/rpc/rpc-connection.js';
import type {Grant} from '../../src/server/auth/grant.js';
import type {ExecServer} from '../../src/server/server.js';
import {encodeBase64} from '../../src/shared/base64.js';
import {memoryTransportPair} from '../../src/transports/memory.js';
import {WebSocketTransport} from '../../src/transports/node/web-socket.js';
import type {Transport} from '../../src/transports/transport.js';

export interface ProcessEvent {
	readonly method: string;
	readonly params: {readonly processId: string; readonly seq: number} & Record<string, unknown>;
}

/** A client that records every notification, with helpers to wait for them. */
export class TestClient {
	readonly rpc: RpcConnection;
	readonly events: ProcessEvent[] = [];
	sessionId = '';
	closed = false;
	/** When set, output is counted and not kept. */
	discardOutput = false;
	discardedChunks = 0;
	#watchers = new Set<() => void>();

	constructor(transport: Transport) {
		this.rpc = new RpcConnection(transport, 'client', {
			request: () => {
				throw new Error('unexpected request');
			},
			notification: ({method, params}) => {
				if (this.discardOutput && method === 'process/output') this.discardedChunks++;
				else this.events.push({method, params: params as ProcessEvent['params']});
				this.#wake();
				return true;
			},
			closed: () => {
				this.closed = true;
				this.#wake();
			},
		});
		this.rpc.open();
	}

	static overMemory(server: ExecServer, grant?: Grant): TestClient {
		const [near, far] = memoryTransportPair();
		server.accept(far, grant);
		return new TestClient(near);
	}

	static async overWebSocket(url: string): Promise<TestClient> {
		const socket = new WebSocket(url, {perMessageDeflate: false});
		await new Promise((resolve, reject) => {
			socket.once('open', resolve);
			socket.once('error', reject);
		});
		const {_socket: below} = socket as unknown as {_socket: import('node:net').Socket};
		return new TestClient(new WebSocketTransport(socket, below, url, 'client'));
	}

	async initialize(resumeSessionId?: string, clientName = 'test'): Promise<this> {
		const result = await this.rpc.request('initialize', {clientName, resumeSessionId});
		this.sessionId = (result as {sessionId: string}).sessionId;
		this.rpc.notify('initialized', {});
		return this;
	}

	call<T = Record<string, unknown>>(method: string, params?: unknown): Promise<T> {
		return this.rpc.request(method, params) as Promise<T>;
	}

	start(processId: string, argv: readonly string[], extra: Record<string, unknown> = {}): Promise<unknown> {
		const env = {PATH: process.env['PATH']};
		return this.call('process/start', {processId, argv, cwd: 'file:///tmp', env, tty: false, ...extra});
	}

	sh(processId: string, script: string, extra?: Record<string, unknown>): Promise<unknown> {
		return this.start(processId, ['/bin/sh', '-c', script], extra);
	}

	write(processId: string, text: string, writeId?: string): Promise<Record<string, unknown>> {
		return this.call('process/write', {processId, chunk: encodeBase64(Buffer.from(text)), writeId});
	}

	/** Notifications of a process so far, in the order of arrival. */
	about(processId: string): ProcessEvent[] {
		return this.events.filter(event => event.params.processId === processId);
	}

	output(processId: string, stream?: string): Buffer {
		const chunks = this.about(processId).filter(
			({method, params}) => method === 'process/output' && (!stream || params['stream'] === stream),
		);
		return Buffer.concat(chunks.map(({params}) => Buffer.from(params['chunk'] as string, 'base64')));
	}

	/** Waits until `probe` returns a value, checked after every notification. */
	until<T>(probe: () => T | undefined | false, what = 'a condition'): Promise<T> {
		return new Promise((resolve, reject) => {
			const check = (): void => {
				const value = probe();
				if (value === undefined || value === false) {
					if (this.closed) finish(() => reject(new Error(`the connection closed before ${what}`)));
					return;
				}
				finish(() => resolve(value));
			};
			const finish = (settle: () => void): void => {
				this.#watchers.delete(check);
				settle();
			};
			this.#watchers.add(check);
			check();
		});
	}

	shows(processId: string, text: string): Promise<true> {
		return this.until(() => this.output(processId).includes(text) || undefined, `output with ${text}`);
	}

	event(processId: string, method: string): Promise<ProcessEvent['params']> {
		return this.until(
			() => this.about(processId).find(event => event.method === method)?.params,
			`${method} of ${processId}`,
		);
	}

	/** Waits for `process/closed` and returns the exit code and the output. */
	async done(processId: string): Promise<{exitCode: number; stdout: string; stderr: string; pty: string}> {
		await this.event(processId, 'process/closed');
		const {exitCode} = await this.event(processId, 'process/exited');
		return {
			exitCode: exitCode as number,
			stdout: this.output(processId, 'stdout').toString(),
			stderr: this.output(processId, 'stderr').toString(),
			pty: this.output(processId, 'pty').toString(),
		};
	}

	untilClosed(): Promise<true> {
		return this.until(() => this.closed || undefined, 'closing').catch(() => true as const);
	}

	#wake(): void {
		for (const check of this.#watchers) check();
	}
}
