import {spawn} from 'node:child_process';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {HubTokens} from '../../dist/hub/store/hub-tokens.js';
import {BrokenLine} from './broken-line.mjs';
import {printedAddress} from './printed-address.mjs';

const ENVIRONMENT = 'devbox';

/** A hub and an executor, each in a process of its own, with a line that breaks between the hub and either end. */
export class HubTrial {
	#command;
	#scratch = mkdtempSync(join(tmpdir(), 'longarm-hub-cuts-'));
	#data = join(this.#scratch, 'hub');
	#tokens = new HubTokens(this.#data);
	#port = 0;
	#hub;
	#executor;

	/** Starts both; `codex` is the stock program, if that shall be the executor. */
	static async start({command, codex, random}) {
		const trial = new HubTrial();
		trial.#command = command;
		// Keys of this trial, and not those of the user.
		process.env.XDG_STATE_HOME = trial.#scratch;
		process.on('exit', () => trial.#kill());
		const url = await trial.#startHub();
		trial.#port = Number(new URL(url).port);
		trial.lines = {client: await BrokenLine.to(url, random.fork()), executor: await BrokenLine.to(url, random.fork())};
		trial.#executor = codex ? trial.#startStock(codex) : trial.#startOwn();
		const {token} = trial.#tokens.create('client', ENVIRONMENT);
		trial.target = {kind: 'registry', url: `registry+${trial.lines.client.url}/${ENVIRONMENT}`, token};
		return trial;
	}

	/** How the executor has ended; undefined while it runs. */
	get executorEnd() {
		return this.#executor.exitCode ?? this.#executor.signalCode ?? undefined;
	}

	/** Ends the hub, by its own doing or not, and starts it again. */
	async restartHub(signal) {
		const hub = this.#hub;
		const gone = new Promise(resolve => hub.once('exit', resolve));
		hub.kill(signal);
		await gone;
		await this.#startHub();
	}

	stop() {
		for (const line of Object.values(this.lines)) line.close();
		this.#kill();
		rmSync(this.#scratch, {recursive: true, force: true, maxRetries: 3});
	}

	#kill() {
		this.#hub?.kill('SIGKILL');
		this.#executor?.kill('SIGTERM');
	}

	async #startHub() {
		const place = ['--listen', `http://127.0.0.1:${this.#port}`, '--data', this.#data];
		this.#hub = spawn(process.execPath, [this.#command, 'hub', ...place, '--log-level', 'error'], {
			stdio: ['ignore', 'pipe', 'inherit'],
		});
		return printedAddress(this.#hub, {name: 'the hub', scheme: 'http', withinMs: 60_000});
	}

	#startOwn() {
		const tokenFile = join(this.#scratch, 'executor.token');
		writeFileSync(tokenFile, this.#tokens.create('executor', ENVIRONMENT).token, {mode: 0o600});
		const serve = ['serve', ...this.#remote(), '--token-file', tokenFile, '--log-level', 'error'];
		return spawn(process.execPath, [this.#command, ...serve], {stdio: ['ignore', 'ignore', 'inherit']});
	}

	#startStock(codex) {
		const home = mkdtempSync(join(this.#scratch, 'home-'));
		const env = {
			PATH: process.env.PATH,
			HOME: home,
			CODEX_HOME: home,
			CODEX_API_KEY: this.#tokens.create('executor', ENVIRONMENT).token,
		};
		return spawn(codex, ['exec-server', ...this.#remote()], {env, stdio: ['ignore', 'ignore', 'inherit']});
	}

	#remote() {
		return ['--remote', this.lines.executor.url, '--environment-id', ENVIRONMENT];
	}
}
