import {mkdtempSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {pathToFileURL} from 'node:url';
import {Child, until} from './child.mjs';

/**
 * A hub between the stock client and the server under test; `dist` is the built package whose hub it is. The executor is our
 * `serve forward`, or with `codexBin` that of the stock program.
 */
export class InteropHub {
	#dist;
	#codexBin;
	#folder;
	#hub;
	#url;
	#clientToken;
	#executorToken;
	#tokenFile;

	constructor(dist, folder, codexBin) {
		this.#dist = dist;
		this.#codexBin = codexBin;
		this.#folder = folder;
	}

	async start() {
		const {Hub} = await import(pathToFileURL(join(this.#dist, 'hub/hub.js')));
		this.#hub = new Hub({host: '127.0.0.1', port: 0, data: mkdtempSync(join(this.#folder, 'data-'))});
		this.#url = await this.#hub.listen();
		this.#clientToken = this.#hub.tokens.create('client', '*').token;
		this.#tokenFile = join(this.#folder, 'executor.token');
		this.#executorToken = this.#hub.tokens.create('executor', '*').token;
		writeFileSync(this.#tokenFile, this.#executorToken, {mode: 0o600});
		return this;
	}

	/** Leads an environment of the hub to a server; settles when it is online. */
	async lead(name, serverUrl) {
		const id = name.replaceAll(/[^\w-]/g, '-').slice(0, 64);
		const place = ['--connect', serverUrl, '--remote', this.#url, '--environment-id', id];
		const forward = this.#codexBin ? this.#stockForward(place) : this.#ownForward(place);
		await until(`${id} behind the hub`, () => this.#hub.relay.findExecutor(id));
		return {
			variables: {
				CODEX_EXEC_SERVER_NOISE_REGISTRY_URL: this.#url,
				CODEX_EXEC_SERVER_NOISE_ENVIRONMENT_ID: id,
				CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN: this.#clientToken,
			},
			stop: () => forward.stop(),
		};
	}

	#ownForward(place) {
		const args = [join(this.#dist, 'bin/longarm.js'), 'serve', 'forward', ...place, '--token-file', this.#tokenFile];
		const env = {PATH: process.env.PATH, XDG_STATE_HOME: mkdtempSync(join(this.#folder, 'state-'))};
		return new Child(process.execPath, args, {env});
	}

	#stockForward(place) {
		const home = mkdtempSync(join(this.#folder, 'home-'));
		const env = {PATH: process.env.PATH, HOME: home, CODEX_HOME: home, CODEX_API_KEY: this.#executorToken};
		return new Child(this.#codexBin, ['exec-server', 'forward', ...place], {env});
	}

	async stop() {
		await this.#hub?.close();
	}
}
