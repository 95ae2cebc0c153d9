import {mkdtempSync} from 'node:fs';
import {join} from 'node:path';
import {pathToFileURL} from 'node:url';

/** A hub of one node, in this process. */
export class SingleHub {
	connections = 0;
	#dist;
	#folder;
	#executorId;
	#hub;

	/** `executorId` is the executor whose lines are cut. */
	constructor(dist, folder, executorId) {
		this.#dist = dist;
		this.#folder = folder;
		this.#executorId = executorId;
	}

	async start() {
		const {Hub} = await import(pathToFileURL(join(this.#dist, 'hub/hub.js')));
		const count = message => {
			if (message === 'client connected') this.connections++;
		};
		const logger = {debug: count, info: count, warn: count, error: count};
		const data = mkdtempSync(join(this.#folder, 'data-'));
		this.#hub = new Hub({host: '127.0.0.1', port: 0, data, hasGateway: true, logger});
		this.clientUrl = await this.#hub.listen();
		this.executorUrl = this.clientUrl;
	}

	createToken(kind) {
		return this.#hub.tokens.create(kind, '*').token;
	}

	cutClients() {
		for (const {socket} of this.#connected().harnesses) socket.destroy(new Error('cut'));
	}

	cutExecutor() {
		this.#connected().socket.destroy(new Error('cut'));
	}

	async stop() {
		await this.#hub?.close();
	}

	#connected() {
		return this.#hub.relay.findExecutor(this.#executorId);
	}
}
