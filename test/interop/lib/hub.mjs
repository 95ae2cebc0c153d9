import {mkdtempSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {Child, until} from './child.mjs';
import {HubNodes} from './hub-nodes.mjs';
import {SingleHub} from './single-hub.mjs';
import {serverVariables} from './surroundings.mjs';

/** Id of the server under test, where that registers itself. */
const EXECUTOR_ID = 'machine';

/**
 * A hub between the stock client and the server under test; `dist` is the built package whose hub it is. With `hasNodes` it
 * has three nodes on NATS: executors are connected to the first, clients to the second.
 */
export class InteropHub {
	/** The server under test where it has registered itself, as scenarios reach it. */
	executor;
	clientToken;
	#dist;
	#folder;
	#hub;
	#executorToken;
	#tokenFile;
	#server;

	constructor(dist, folder, {hasNodes = false} = {}) {
		this.#dist = dist;
		this.#folder = folder;
		this.#hub = hasNodes ? new HubNodes(dist, folder) : new SingleHub(dist, folder, EXECUTOR_ID);
	}

	/** Connections of clients so far. */
	get connections() {
		return this.#hub.connections;
	}

	/** A program that speaks stdio with the server under test. */
	get bridgeCommand() {
		const program = join(this.#dist, 'bin/longarm.js');
		const token = `LONGARM_EXEC_SERVER_TOKEN='${this.clientToken}'`;
		return `${token} exec '${process.execPath}' '${program}' bridge '${this.executor.registryUrl}'`;
	}

	async start() {
		await this.#hub.start();
		this.clientToken = this.#hub.createToken('client');
		this.#tokenFile = join(this.#folder, 'executor.token');
		this.#executorToken = this.#hub.createToken('executor');
		writeFileSync(this.#tokenFile, this.#executorToken, {mode: 0o600});
		return this;
	}

	/** Starts a server that registers itself; settles when it is online. */
	async serve(command, scratch) {
		const env = {...serverVariables(scratch), CODEX_API_KEY: this.#executorToken};
		const shell = `${command} --remote '${this.#hub.executorUrl}' --environment-id ${EXECUTOR_ID}`;
		this.#server = new Child('/bin/sh', ['-c', shell], {env});
		await until('the server behind the hub', () => this.#isOnline(EXECUTOR_ID));
		const {clientUrl} = this.#hub;
		this.executor = {
			variables: this.#variablesFor(EXECUTOR_ID),
			gatewayUrl: `${clientUrl.replace('http', 'ws')}/environments/${EXECUTOR_ID}`,
			registryUrl: `registry+${clientUrl}/${EXECUTOR_ID}`,
		};
	}

	/** Leads an environment of the hub to a server, with our `serve forward` or that of the stock program. */
	async lead(name, serverUrl, codexBin) {
		const id = name.replaceAll(/[^\w-]/g, '-').slice(0, 64);
		const place = ['--connect', serverUrl, '--remote', this.#hub.executorUrl, '--environment-id', id];
		const forward = codexBin ? this.#stockForward(codexBin, place) : this.#ownForward(place);
		await until(`${id} behind the hub`, () => this.#isOnline(id));
		return {variables: this.#variablesFor(id), stop: () => forward.stop()};
	}

	cutClients() {
		this.#hub.cutClients();
	}

	cutExecutor() {
		this.#hub.cutExecutor();
	}

	/** Ends the node of the executors without a word; only with `hasNodes`. */
	killExecutorNode() {
		return this.#hub.killExecutorNode();
	}

	async stop() {
		await this.#server?.stop();
		await this.#hub.stop();
	}

	/** Whether clients reach an executor. */
	async #isOnline(id) {
		const headers = {authorization: `Bearer ${this.clientToken}`};
		const response = await fetch(`${this.#hub.clientUrl}/environments`, {headers});
		const {environments} = await response.json();
		return environments.some(each => each.id === id && each.isOnline);
	}

	#variablesFor(id) {
		return {
			CODEX_EXEC_SERVER_NOISE_REGISTRY_URL: this.#hub.clientUrl,
			CODEX_EXEC_SERVER_NOISE_ENVIRONMENT_ID: id,
			CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN: this.clientToken,
		};
	}

	#ownForward(place) {
		const args = [join(this.#dist, 'bin/longarm.js'), 'serve', 'forward', ...place, '--token-file', this.#tokenFile];
		const env = {PATH: process.env.PATH, XDG_STATE_HOME: mkdtempSync(join(this.#folder, 'state-'))};
		return new Child(process.execPath, args, {env});
	}

	#stockForward(codexBin, place) {
		const home = mkdtempSync(join(this.#folder, 'home-'));
		const env = {PATH: process.env.PATH, HOME: home, CODEX_HOME: home, CODEX_API_KEY: this.#executorToken};
		return new Child(codexBin, ['exec-server', 'forward', ...place], {env});
	}
}
