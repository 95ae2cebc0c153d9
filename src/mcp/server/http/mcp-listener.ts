import {createServer, type IncomingMessage, type Server, type ServerResponse} from 'node:http';
import type {AddressInfo, Socket} from 'node:net';
import {createMcpHandler} from '@modelcontextprotocol/server';
import type {Authenticator} from '../../../server/auth/authenticator.js';
import {createAdmission} from '../../../server/local-admission.js';
import {createHostCheck} from '../../../transports/node/host-header.js';
import type {McpService} from '../mcp-service.js';
import {bridge, type WebHandler} from './http-bridge.js';

/** Path of the protocol. */
const PATH = '/mcp';
/** Largest request: the content of a file to write. */
export const MAX_REQUEST_BYTES = 32 * 1024 * 1024;
/** Connections of all clients at once. */
export const MAX_HTTP_CONNECTIONS = 1024;

export interface McpListenerOptions {
	readonly host: string;
	/** 0 for a free one. */
	readonly port: number;
	/** Undefined: programs of this user on this machine are let in, outside of every sandbox. */
	readonly authenticator: Authenticator | undefined;
	/** Origins of web pages that are let in. */
	readonly allowedOrigins: readonly string[];
}

/** Serves MCP clients over streamable HTTP. */
export class McpListener implements AsyncDisposable {
	readonly #server: Server;
	readonly #options: McpListenerOptions;
	readonly #handle: WebHandler;
	readonly #close: () => Promise<void>;
	readonly #isKnownHost: (header: string | undefined) => boolean;
	readonly #refusePeer: (socket: Socket) => string | undefined;

	static async listen(service: McpService, options: McpListenerOptions): Promise<McpListener> {
		const listener = new McpListener(service, options);
		await listener.#listen();
		return listener;
	}

	private constructor({createServer: createMcpServer}: McpService, options: McpListenerOptions) {
		const {fetch, close} = createMcpHandler(createMcpServer, {
			maxRequestBodySize: MAX_REQUEST_BYTES,
			onerror: () => {},
		});
		this.#options = options;
		this.#handle = request => fetch(request);
		this.#close = close;
		this.#isKnownHost = createHostCheck(options.host, []);
		const {authenticator} = options;
		this.#refusePeer = createAdmission({isForThisUser: !authenticator, sandboxes: authenticator ? 'longarm' : 'all'});
		this.#server = createServer((request, response) => {
			this.#answer(request, response).catch(() => response.destroy());
		});
		this.#server.maxConnections = MAX_HTTP_CONNECTIONS;
	}

	/** Where clients find it. */
	get url(): string {
		const {address, port, family} = this.#server.address() as AddressInfo;
		return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}${PATH}`;
	}

	async [Symbol.asyncDispose](): Promise<void> {
		const closed = new Promise(resolve => {
			this.#server.close(resolve);
		});
		await this.#close();
		this.#server.closeAllConnections();
		await closed;
	}

	#listen(): Promise<void> {
		const {host, port} = this.#options;
		return new Promise((resolve, reject) => {
			this.#server.once('error', reject);
			this.#server.listen({host, port}, resolve);
		});
	}

	/** Web pages first: nothing of theirs is looked at any further. */
	async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
		const {host, origin} = request.headers;
		if (!this.#isKnownHost(host)) return refuse(response, 403, 'this server is not known by that name');
		// A page of our own address is no other site: there is none, and the protocol demands that it is let in.
		const isOwn = origin === `http://${host}`;
		if (origin !== undefined && !isOwn && !this.#options.allowedOrigins.includes(origin)) {
			return refuse(response, 403, 'web pages of this origin are not let in');
		}
		const stranger = this.#refusePeer(request.socket);
		if (stranger !== undefined) return refuse(response, 403, stranger);
		if (new URL(request.url ?? '/', 'http://localhost').pathname !== PATH)
			return refuse(response, 404, `MCP is at ${PATH}`);
		if (!(await this.#isAdmitted(request))) {
			response.setHeader('WWW-Authenticate', 'Bearer');
			return refuse(response, 401, 'a valid bearer token is needed');
		}
		await bridge(request, response, this.#handle);
	}

	async #isAdmitted({headers}: IncomingMessage): Promise<boolean> {
		const {authenticator} = this.#options;
		if (!authenticator) return true;
		return (await authenticator.authenticate(headers.authorization)).kind === 'pass';
	}
}

function refuse(response: ServerResponse, status: number, reason: string): void {
	response.writeHead(status, {'Content-Type': 'text/plain; charset=utf-8', Connection: 'close'});
	response.end(`${reason}\n`);
}
