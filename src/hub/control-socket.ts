import {rmSync} from 'node:fs';
import {createServer, type IncomingMessage, type Server, type ServerResponse} from 'node:http';
import {join} from 'node:path';
import {refuseConfinedPeer} from '../server/confined-peers.js';
import {errorMessage} from '../shared/errors.js';
import type {Logger} from '../shared/logger.js';
import {descriptorOf} from '../transports/node/socket-descriptor.js';
import {listenPrivately} from '../transports/node/unix-listener.js';
import {HubRefusal, readJsonBody, sendJson, sendRefusal} from './http-exchange.js';

/** Name of the socket in the hub's directory that its owner asks without a token. */
export const CONTROL_SOCKET = 'control.sock';
/** Longest path of a socket that every system takes, in bytes. */
const MAX_SOCKET_PATH_BYTES = 103;

/** Answer to one request of the owner, such as `GET /environments`; the parameters are the JSON object in its body. */
export type ControlRoute = (parameters: Readonly<Record<string, unknown>>) => Promise<object | string>;

export interface ControlSocketOptions {
	readonly directory: string;
	/** By method and path. */
	readonly routes: Readonly<Record<string, ControlRoute>>;
	readonly logger: Logger;
}

/** Answers those who can open a socket in the hub's directory, which only its owner can: they could read its secrets as well. */
export class ControlSocket {
	readonly #options: ControlSocketOptions;
	#server: Server | undefined;

	constructor(options: ControlSocketOptions) {
		this.#options = options;
	}

	/** A hub without it works: only the commands that ask it do not. */
	async listen(): Promise<void> {
		const {directory, logger} = this.#options;
		const path = join(directory, CONTROL_SOCKET);
		if (Buffer.byteLength(path) > MAX_SOCKET_PATH_BYTES) {
			logger.warn('the path of the directory is too long for a socket: longarm hub ls will not work', {directory});
			return;
		}
		// The directory is locked: a socket in it is left from a hub that is gone.
		rmSync(path, {force: true});
		const server = createServer((request, response) => void this.#handle(request, response));
		await new Promise<void>((resolve, reject) => {
			server.once('error', reject);
			listenPrivately(server, path, resolve);
		});
		this.#server = server;
	}

	async close(): Promise<void> {
		const server = this.#server;
		if (!server) return;
		await new Promise<void>(resolve => {
			server.close(() => resolve());
			server.closeAllConnections();
		});
	}

	async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
		// A sandbox may show the directory: a socket can be connected to through a mount that is read-only.
		const refusal = refuseConfinedPeer({kind: 'unix', fd: descriptorOf(request.socket)}, 'all');
		if (refusal !== undefined) return sendRefusal(response, new HubRefusal(403, 'forbidden', refusal));
		const route = this.#options.routes[`${request.method} ${request.url}`];
		if (!route) return sendJson(response, 404, {});
		try {
			const answer = await route(await readJsonBody(request));
			if (typeof answer === 'string') response.end(answer);
			else sendJson(response, 200, answer);
		} catch (error) {
			sendRefusal(response, error instanceof HubRefusal ? error : new HubRefusal(400, 'failed', errorMessage(error)));
		}
	}
}
