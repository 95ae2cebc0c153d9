import fs from 'node:fs';
import path from 'node:path';
import {Child} from './child.mjs';
import {RecordingProxy} from './proxy.mjs';
import {Recorder} from './recorder.mjs';
import {variablesFor} from './surroundings.mjs';

const MAX_QUOTED_CHARACTERS = 300;
const MAX_TRANSCRIPT_CHARACTERS = 4000;
/** Files in which commands leave their process id, so that a server that loses track of one leaves nothing behind. */
const PID_FILES = ['pid', 'child'];
const FEATURES_OFF = ['plugins', 'apps', 'remote_plugin', 'plugin_sharing', 'multi_agent', 'goals'];

/** One run of the stock client: its folders, its recorded connection, its scripted model, and what is checked on it. */
export class Scenario {
	notes = [];
	#rig;
	#definition;
	#client;
	#behindHub;
	#session;

	constructor(rig, definition) {
		this.#rig = rig;
		this.#definition = definition;
		const {name} = definition;
		this.work = rig.scratch.folder('work', name);
		this.temporary = rig.scratch.folder('client', name, 'tmp');
		this.codexHome = rig.scratch.folder('client', name, 'codex-home');
		this.recorder = new Recorder(rig.transcripts && path.join(rig.transcripts, `${name}.jsonl`), rig.scrub);
	}

	get token() {
		return this.#rig.token;
	}

	get stdioCommand() {
		return this.#rig.stdioCommand;
	}

	/** Plain WebSocket address of the server; behind a hub that of its gateway. */
	get url() {
		return this.proxy?.url ?? this.#behindHub?.gatewayUrl;
	}

	/** Address of the server for longarm itself. */
	get longarmUrl() {
		return this.proxy?.url ?? this.#behindHub?.registryUrl;
	}

	/** Connections that the client has made so far. */
	get connections() {
		return this.proxy ? this.recorder.requests('initialize').length : this.#rig.hub.connections;
	}

	get clientStderr() {
		return this.#client?.stderr ?? '';
	}

	/** What the script complained of first, which is nearer to the cause than how the client ended. */
	get scriptError() {
		return this.#session?.errors[0];
	}

	async setUp() {
		this.#behindHub = this.#rig.hub?.executor;
		if (this.#definition.isStdio || this.#behindHub) return;
		this.proxy = await new RecordingProxy(this.#rig.serverUrl, this.recorder, this.#definition.rewrite).start();
		this.#behindHub = await this.#rig.hub?.lead(this.#definition.name, this.proxy.url, this.#rig.stockForward);
	}

	/** Cuts the connection of the client without a closing handshake. */
	cut() {
		if (this.proxy) this.proxy.cut();
		else this.#rig.hub.cutClients();
	}

	/** Cuts the connection of the executor to its hub. */
	cutExecutor() {
		this.#rig.hub.cutExecutor();
	}

	/** Kills the node of the hub that the executor is connected to. */
	killExecutorNode() {
		return this.#rig.hub.killExecutorNode();
	}

	/** Checks recorded messages; left out behind a hub, where they are encrypted. */
	onWire(check) {
		if (this.proxy) check(this.recorder);
	}

	/** A folder of the whole run, outside every working folder. */
	folder(...parts) {
		return this.#rig.scratch.folder(...parts);
	}

	note(text) {
		this.notes.push(text);
	}

	ok(condition, complaint) {
		if (!condition) throw new Error(complaint);
	}

	match(text, pattern, subject = 'output') {
		this.ok(pattern.test(text ?? ''), `${subject} does not match ${pattern}: ${quote(text)}`);
	}

	equal(actual, expected, subject) {
		const complaint = `${subject}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(actual)}`;
		this.ok(actual === expected, complaint);
	}

	/** Checks how a followed command ended. */
	exited({exitCode, text}, expected) {
		this.ok(exitCode === expected, `expected exit code ${expected}, got ${exitCode}; the client said ${quote(text)}`);
	}

	/** Writes files below a folder of the server, and removes them after `use`. */
	async withServerFiles(folder, files, use) {
		const root = this.folder('server', folder);
		try {
			for (const [name, content] of Object.entries(files)) {
				fs.mkdirSync(path.dirname(path.join(root, name)), {recursive: true});
				fs.writeFileSync(path.join(root, name), content);
			}
			await use(root);
		} finally {
			for (const name of Object.keys(files)) fs.rmSync(path.join(root, name), {force: true});
		}
	}

	/** Reads a file of the working folder; undefined if it is not there. */
	read(name) {
		const file = path.join(this.work, name);
		return fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : undefined;
	}

	write(name, content) {
		fs.writeFileSync(path.join(this.work, name), content);
	}

	/** Runs the stock client on a script; throws unless both come to a good end. */
	async exec(script, options) {
		const status = await this.start(script, options).exited;
		this.ok(!this.scriptError, this.scriptError);
		const stderr = this.clientStderr.trim().slice(-MAX_QUOTED_CHARACTERS);
		const {isFinished} = this.#session;
		this.ok(isFinished, `script did not reach its end (client ended with ${status}); stderr: ${stderr}`);
		this.ok(status === 0, `client ended with ${status}: ${stderr}`);
	}

	/**
	 * Starts the stock client on a script. `sandbox` is the name of its sandbox mode, none by default; `features` are switched
	 * on; `tables` are further lines of its config.toml, `environments` those of its environments.toml, `variables` further
	 * variables.
	 */
	start(
		script,
		{sandbox, features = [], tables = [], environments = this.#environmentWithToken(), variables: more} = {},
	) {
		this.#session = this.#rig.model.open(this.#definition.name, script);
		fs.writeFileSync(path.join(this.codexHome, 'config.toml'), this.#config(features, tables));
		if (environments) fs.writeFileSync(path.join(this.codexHome, 'environments.toml'), `${environments.join('\n')}\n`);
		const mode = sandbox ? ['--sandbox', sandbox] : ['--dangerously-bypass-approvals-and-sandbox'];
		const args = ['exec', '--json', '--color', 'never', '--skip-git-repo-check', ...mode, '-C', this.work, 'go'];
		const variables = variablesFor({
			home: this.folder('client', this.#definition.name, 'home'),
			codexHome: this.codexHome,
			temporary: this.temporary,
			side: 'client',
		});
		this.#client = new Child(this.#rig.codexBin, args, {
			cwd: this.work,
			env: {
				...variables,
				E2E_MODEL_KEY: 'dummy',
				...(!environments && (this.#behindHub?.variables ?? {CODEX_EXEC_SERVER_URL: this.proxy?.url})),
				...more,
			},
		});
		return this.#client;
	}

	async tearDown() {
		await this.#client?.stop();
		for (const name of PID_FILES) this.#killLeftOver(Number(this.read(name)));
		await this.#behindHub?.stop?.();
		await this.proxy?.stop();
		if (this.#rig.transcripts && this.#client) this.#writeClientEvents(this.#rig.transcripts);
	}

	#environmentWithToken() {
		return this.token && this.proxy ? remoteEnvironment(this.proxy.url, this.token) : undefined;
	}

	#config(features, tables) {
		return `${[
			`model = ${JSON.stringify(this.#definition.model ?? 'gpt-5.5')}`,
			'model_provider = "scripted"',
			'check_for_update_on_startup = false',
			'web_search = "disabled"',
			'[analytics]',
			'enabled = false',
			'[feedback]',
			'enabled = false',
			'[history]',
			'persistence = "none"',
			'[features]',
			...FEATURES_OFF.map(name => `${name} = false`),
			...features.map(name => `${name} = true`),
			'[model_providers.scripted]',
			'name = "scripted"',
			`base_url = ${JSON.stringify(this.#session.baseUrl)}`,
			'wire_api = "responses"',
			'env_key = "E2E_MODEL_KEY"',
			'request_max_retries = 0',
			'stream_max_retries = 0',
			...tables,
		].join('\n')}\n`;
	}

	#killLeftOver(pid) {
		try {
			if (pid > 1 && fs.readlinkSync(`/proc/${pid}/cwd`) === this.work) process.kill(pid, 'SIGKILL');
		} catch {
			// It is gone.
		}
	}

	#writeClientEvents(folder) {
		const lines = this.#client.stdout.split('\n').filter(Boolean).map(parseEvent);
		const text = lines.map(event => `${JSON.stringify(this.#rig.scrub(event), shorten)}\n`).join('');
		fs.writeFileSync(path.join(folder, `${this.#definition.name}.client.jsonl`), text);
	}
}

/** The lines of an environments.toml with one environment, reached with a token. */
export function remoteEnvironment(url, token) {
	return [
		'default = "remote"',
		'include_local = false',
		'[[environments]]',
		'id = "remote"',
		`url = "${url}"`,
		`auth_bearer_token = ${JSON.stringify(token)}`,
	];
}

function quote(text) {
	return JSON.stringify(String(text).slice(0, MAX_QUOTED_CHARACTERS));
}

function parseEvent(line) {
	try {
		return JSON.parse(line);
	} catch {
		return {raw: line};
	}
}

function shorten(_key, value) {
	if (typeof value !== 'string' || value.length <= MAX_TRANSCRIPT_CHARACTERS) return value;
	return `${value.slice(0, 80)}...(${value.length} characters)`;
}
