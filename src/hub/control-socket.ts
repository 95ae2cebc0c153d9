import {chmodSync, rmSync} from 'node:fs';
import {createServer, type Server} from 'node:http';
import {join} from 'node:path';
import type {Logger} from '../shared/logger.js';
import type {EnvironmentRoutes} from './environment-routes.js';
import {sendJson} from './http-exchange.js';

/** Name of the socket in the hub's directory that its owner asks without a token. */
export const CONTROL_SOCKET = 'control.sock';
const OWNER_ONLY = 0o600;
/** Longest path of a socket that every system takes, in bytes. */
const MAX_SOCKET_PATH_BYTES = 103;

export interface ControlSocketOptions {
	readonly directory: string;
	readonly environments: EnvironmentRoutes;
	readonly metrics: () => string;
	readonly logger: Logger;
}

/** Answers those who can open a socket in the hub's directory, which only its owner can: they could read its secrets as well. */
export class ControlSocket {
	readonly #options: ControlSocketOptions;
	#server: Server | undefined;

	constructor(options: ControlSocketOptions) {
		this.#options = options;
	}

	/** A hub without it works: only `longarm hub ls` does not. */
	async listen(): Promise<void> {
		const {directory, environments, metrics, logger} = this.#options;
		const path = join(directory, CONTROL_SOCKET);
		if (Buffer.byteLength(path) > MAX_SOCKET_PATH_BYTES) {
			logger.warn('the path of the directory is too long for a socket: longarm hub ls will not work', {directory});
			return;
		}
		// The directory is locked: a socket in it is left from a hub that is gone.
		rmSync(path, {force: true});
		const server = createServer((request, response) => {
			const answer = async (): Promise<void> => sendJson(response, 200, {environments: await environments.listAll()});
			if (request.url === '/environments') void answer();
			else if (request.url === '/metrics') response.end(metrics());
			else sendJson(response, 404, {});
		});
		await new Promise<void>((resolve, reject) => {
			server.once('error', reject);
			server.listen(path, resolve);
		});
		chmodSync(path, OWNER_ONLY);
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
}
