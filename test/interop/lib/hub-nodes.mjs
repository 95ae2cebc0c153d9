import {mkdtempSync} from 'node:fs';
import {join} from 'node:path';
import {areReady, createHubToken, startHubNodes} from '../../../bench/lib/hub-cluster.mjs';
import {startNatsCluster} from '../../../bench/lib/nats-cluster.mjs';
import {until} from './child.mjs';
import {NodeLine} from './node-line.mjs';

const NODES = 3;

/** A hub of three nodes on NATS, each in a process of its own: executors go to the first, clients to the second. */
export class HubNodes {
	#command;
	#folder;
	#brokers = [];
	#nodes = [];
	#lines = [];

	constructor(dist, folder) {
		this.#command = join(dist, 'bin/longarm.js');
		this.#folder = folder;
	}

	get connections() {
		return this.#clients.sockets;
	}

	get clientUrl() {
		return this.#clients.url;
	}

	get executorUrl() {
		return this.#executors.url;
	}

	async start() {
		const scratch = mkdtempSync(join(this.#folder, 'nodes-'));
		this.#brokers = await startNatsCluster(scratch, 1);
		const place = {command: this.#command, scratch, brokers: this.#brokers};
		this.#nodes = await startHubNodes({...place, count: NODES, flags: ['--gateway']});
		await until('the nodes of the hub', () => areReady(this.#nodes));
		for (const {url} of this.#nodes.slice(0, 2)) this.#lines.push(await new NodeLine(url).start());
	}

	createToken(kind) {
		return createHubToken(this.#command, this.#nodes[0], kind);
	}

	cutClients() {
		this.#clients.cut();
	}

	cutExecutor() {
		this.#executors.cut();
	}

	/** Kills the node that executors are connected to; new connections of them go to the third one. */
	async killExecutorNode() {
		this.#executors.lead(this.#nodes[2].url);
		await this.#nodes[0].kill();
	}

	async stop() {
		for (const line of this.#lines) line.stop();
		for (const victim of [...this.#nodes, ...this.#brokers]) await victim.kill();
	}

	get #executors() {
		return this.#lines[0];
	}

	get #clients() {
		return this.#lines[1];
	}
}
