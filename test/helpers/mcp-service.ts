import {Client, type ClientOptions, InMemoryTransport} from '@modelcontextprotocol/client';
import {StdioClientTransport} from '@modelcontextprotocol/client/stdio';
import {serveStdio} from '@modelcontextprotocol/server/stdio';
import {onTestFinished} from 'vitest';
import {Environment} from '../../src/environments/environment.js';
import type {MachineLimits} from '../../src/mcp/server/machines/machine-limits.js';
import {NamedMachine} from '../../src/mcp/server/machines/named-machine.js';
import {McpService, type McpServiceOptions} from '../../src/mcp/server/mcp-service.js';
import {PROGRAM} from './command.js';
import {askUntil} from './processes.js';
import {scratchDirectory} from './scratch.js';
import {serving} from './serving.js';

export const MODERN = '2026-07-28';
export const TASKS = 'io.modelcontextprotocol/tasks';

/** The address of a server that keeps processes; with `keeps: false`, of one that does not. */
export async function machineUrl({keeps = true} = {}): Promise<string> {
	return (await serving({allowForward: 'loopback', ...(keeps && {stateDirectory: scratchDirectory()})})).url;
}

/** A machine behind a connection of its own. */
export function machineAt(url: string, name = 'devbox', labels = {}, limits: MachineLimits = {}): NamedMachine {
	return new NamedMachine(name, Environment.remote(name, url), labels, limits);
}

/** A service for machines; gone with the test. */
export function mcpService(machines: readonly NamedMachine[], options: Partial<McpServiceOptions> = {}): McpService {
	const service = new McpService({
		machines,
		groups: ['exec', 'files', 'ports'],
		isReadOnly: false,
		graceMs: 600_000,
		maxWaitMs: 45_000,
		maxChars: 10_000,
		hasSecretIds: false,
		...options,
	});
	onTestFinished(() => service[Symbol.asyncDispose]());
	return service;
}

/** A client of the SDK in the same process; `modern` is one of the newest protocol. */
export async function sdkClient(
	service: McpService,
	{modern = false, ...options}: ClientOptions & {modern?: boolean} = {},
	name = 'test',
): Promise<Client> {
	const [near, far] = InMemoryTransport.createLinkedPair();
	const handle = serveStdio(service.createServer, {transport: far});
	const negotiation = modern ? {versionNegotiation: {mode: {pin: MODERN}}} : {};
	const client = new Client({name, version: '1'}, {...negotiation, ...options});
	await client.connect(near);
	onTestFinished(async () => {
		await client.close();
		await handle.close();
	});
	return client;
}

export interface StdioClient {
	readonly client: Client;
	readonly pid: number;
}

/** The command itself, as clients start it, for a machine at an address. */
export async function stdioClient(url: string, ...args: string[]): Promise<StdioClient> {
	const transport = new StdioClientTransport({
		command: process.execPath,
		args: [PROGRAM, 'mcp', '-e', url, ...args],
		env: {PATH: process.env['PATH']!, HOME: process.env['HOME']!},
	});
	const client = new Client({name: 'test', version: '1'});
	await client.connect(transport);
	onTestFinished(() => client.close());
	return {client, pid: transport.pid!};
}

/** Text of the answer of a tool; one that failed begins with `ERROR`. */
export async function callText(client: Client, name: string, given: Record<string, unknown>): Promise<string> {
	const {content, isError} = await client.callTool({name, arguments: given});
	const text = (content as {text?: string}[]).map(block => block.text ?? '').join('\n');
	return isError ? `ERROR ${text}` : text;
}

/** Settles when the list of processes shows what is expected. */
export async function untilListed(client: Client, pattern: RegExp): Promise<void> {
	await askUntil(
		() => callText(client, 'ps', {}),
		text => pattern.test(text),
	);
}

/** A task of a client when it is not `working` any more. */
export function untilTaskRests(
	client: {request(method: string, params: {taskId: unknown}): Promise<Record<string, unknown>>},
	taskId: unknown,
): Promise<Record<string, unknown>> {
	return askUntil(
		() => client.request('tasks/get', {taskId}),
		task => task['status'] !== 'working',
	);
}

interface Message {
	readonly id?: number;
	readonly method?: string;
	readonly params?: Record<string, unknown>;
	readonly result?: Record<string, unknown>;
	readonly error?: {readonly code: number; readonly message: string};
}

/** A client of the newest protocol that says everything itself. */
export class RawMcpClient {
	readonly notifications: Message[] = [];
	readonly #transport: InMemoryTransport;
	readonly #capabilities: object;
	readonly #pending = new Map<number, (message: Message) => void>();
	readonly #listeners = new Set<() => void>();
	#last = 0;

	static async open(service: McpService, capabilities: object = {}): Promise<RawMcpClient> {
		const [near, far] = InMemoryTransport.createLinkedPair();
		const handle = serveStdio(service.createServer, {transport: far});
		onTestFinished(() => handle.close());
		const client = new RawMcpClient(near, capabilities);
		await near.start();
		await client.request('server/discover');
		return client;
	}

	private constructor(transport: InMemoryTransport, capabilities: object) {
		this.#transport = transport;
		this.#capabilities = capabilities;
		Object.assign(transport, {onmessage: (message: Message) => this.#receive(message)});
	}

	/** Number that the next request will have. */
	get nextId(): number {
		return this.#last + 1;
	}

	async request(method: string, params: object = {}, meta: object = {}): Promise<Record<string, unknown>> {
		const {result, error} = await this.exchange(method, params, meta);
		if (error) throw Object.assign(new Error(error.message), {code: error.code});
		return result!;
	}

	exchange(method: string, params: object = {}, meta: object = {}): Promise<Message> {
		const id = ++this.#last;
		const envelope = {
			'io.modelcontextprotocol/protocolVersion': MODERN,
			'io.modelcontextprotocol/clientInfo': {name: 'raw', version: '1'},
			'io.modelcontextprotocol/clientCapabilities': this.#capabilities,
		};
		const answer = new Promise<Message>(resolve => this.#pending.set(id, resolve));
		void this.#transport.send({
			jsonrpc: '2.0',
			id,
			method,
			params: {...params, _meta: {...envelope, ...meta}},
		} as never);
		return answer;
	}

	call(name: string, given: object, meta: object = {}): Promise<Record<string, unknown>> {
		return this.request('tools/call', {name, arguments: given}, meta);
	}

	cancel(requestId: number): Promise<void> {
		return this.#transport.send({jsonrpc: '2.0', method: 'notifications/cancelled', params: {requestId}} as never);
	}

	/** Settles with the first notification that fits. */
	async notified(fits: (message: Message) => boolean): Promise<Message> {
		for (;;) {
			const found = this.notifications.find(fits);
			if (found) return found;
			await new Promise<void>(resolve => {
				const listener = (): void => {
					this.#listeners.delete(listener);
					resolve();
				};
				this.#listeners.add(listener);
			});
		}
	}

	#receive(message: Message): void {
		if (message.id !== undefined && message.method === undefined) return this.#pending.get(message.id)?.(message);
		this.notifications.push(message);
		const listeners = [...this.#listeners];
		for (const listener of listeners) listener();
	}
}

/** Text of a result. */
export function textOf(result: Record<string, unknown>): string {
	return (result['content'] as {text?: string}[]).map(block => block.text ?? '').join('\n');
}
