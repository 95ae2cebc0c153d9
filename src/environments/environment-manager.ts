import type {RemoteStatus} from '../client/session/lazy-client.js';
import {type OptionTable, readOptions, type WithDurations} from '../shared/call-options.js';
import type {EnvironmentLabels} from '../shared/labels.js';
import type {ConfigVariables} from './config/config-variables.js';
import {defaultProvider, type ProviderOptions} from './config/default-provider.js';
import {Environment} from './environment.js';
import {type EnvironmentProvider, type EnvironmentSnapshot, LOCAL, readSnapshot} from './environment-provider.js';
import {selectEnvironments, unknownEnvironment} from './many/selector.js';
import {findHubTarget} from './remote/hub-target.js';
import type {RemoteTarget} from './remote/remote-target.js';
import {invalidEnvironment, targetFromUrl} from './remote/remote-url.js';

/** Options of `EnvironmentManager.load`. */
export interface LoadOptions extends ProviderOptions {
	/** In place of `environments.toml` and the variables. */
	readonly provider?: EnvironmentProvider | undefined;
}

/** Options of `EnvironmentManager.place`. */
export interface PlaceOptions {
	/** How long to wait for a machine while none has room or none is there; 3 seconds by default. */
	readonly waitMs?: number | undefined;
}

const PLACE_OPTIONS: OptionTable<PlaceOptions> = {waitMs: 'duration'};
const LOAD_OPTIONS: OptionTable<LoadOptions> = {provider: 'object', variables: 'object', home: 'text'};

/** The environments of a program, by name. There may be no default: then it has nothing to run commands on. */
export class EnvironmentManager implements AsyncDisposable {
	readonly #environments = new Map<string, Environment>();
	readonly #defaultId: string | undefined;
	readonly #labels: ReadonlyMap<string, EnvironmentLabels>;
	/** As they were loaded, for the hubs among them. */
	readonly #remotes: ReadonlyMap<string, RemoteTarget>;
	readonly #placed = new Set<Environment>();

	/** The environments of the provider: by default `environments.toml`, else the variables; else this machine. */
	static async load(options: LoadOptions = {}): Promise<EnvironmentManager> {
		readOptions<LoadOptions>(options, LOAD_OPTIONS, 'EnvironmentManager.load()');
		const {provider = defaultProvider(options), variables} = options;
		return new EnvironmentManager(await readSnapshot(provider), variables);
	}

	constructor(
		{defaultId, includesLocal, remotes, labels = new Map()}: EnvironmentSnapshot,
		variables: ConfigVariables = process.env,
	) {
		for (const id of remotes.keys()) requireOwnId(id);
		const isKnown = defaultId === undefined || remotes.has(defaultId) || (includesLocal && defaultId === LOCAL);
		if (!isKnown) throw protocolError(`default environment \`${defaultId}\` is not configured`);
		this.#defaultId = defaultId;
		this.#labels = labels;
		this.#remotes = remotes;
		if (includesLocal) this.#environments.set(LOCAL, Environment.local(LOCAL, variables));
		for (const [id, target] of remotes) this.#environments.set(id, Environment.remote(id, target));
	}

	/** Undefined when it is disabled. */
	get default(): Environment | undefined {
		return this.#defaultId === undefined ? undefined : this.#environments.get(this.#defaultId);
	}

	/** This machine, if it is one of them. */
	get local(): Environment | undefined {
		return this.#environments.get(LOCAL);
	}

	/** The default first. */
	get ids(): string[] {
		const rest = [...this.#environments.keys()].filter(id => id !== this.#defaultId);
		return this.#defaultId === undefined ? rest : [this.#defaultId, ...rest];
	}

	get(id: string): Environment | undefined {
		return this.#environments.get(id);
	}

	/** An environment of this name, with an error for people when there is none. */
	require(id: string): Environment {
		const environment = this.#environments.get(id);
		if (environment) return environment;
		throw unknownEnvironment(id, this.ids);
	}

	/**
	 * The environments of a selector: names and labels, as in `a,b,@os=linux+arch=arm64`. Throws where it names an environment
	 * that does not exist, or labels that none has.
	 */
	select(selector: string): Environment[] {
		const names = selectEnvironments(selector, {names: this.ids, labels: this.#labels});
		return names.map(name => this.require(name));
	}

	/**
	 * One machine that a hub chooses, at its first use: `pool:gpu` or `@os=linux` at the only hub of the configuration,
	 * `NAME/pool:gpu` at that of the environment NAME. `NAME/ID` is the machine ID there. Each call is a choice of its own;
	 * `member` of the environment tells it. Fails with `POOL_FULL` or `POOL_EMPTY` when it is used, after `waitMs`.
	 */
	place(selector: string, options: WithDurations<PlaceOptions> = {}): Environment {
		const {waitMs} = readOptions<PlaceOptions>(options, PLACE_OPTIONS, 'place()');
		const found = findHubTarget(selector, this.#remotes);
		if (!found) throw unknownEnvironment(selector, this.ids);
		const target = waitMs === undefined ? found.target : {...found.target, poolWaitMs: waitMs};
		const environment = Environment.remote(found.name, target);
		this.#placed.add(environment);
		return environment;
	}

	/** The labels of an environment; empty when it has none. */
	labels(id: string): EnvironmentLabels {
		return this.#labels.get(id) ?? {};
	}

	/** Adds an environment, or puts a new one in the place of the old, whose connection ends. */
	upsert(id: string, target: string | RemoteTarget): Environment {
		requireOwnId(id);
		const environment = Environment.remote(id, typeof target === 'string' ? toTarget(target) : target);
		void this.#environments.get(id)?.close();
		this.#environments.set(id, environment);
		return environment;
	}

	/** Undefined when there is no such environment. */
	async status(id: string): Promise<RemoteStatus | undefined> {
		return this.#environments.get(id)?.status();
	}

	async close(): Promise<void> {
		const all = [...this.#environments.values(), ...this.#placed];
		this.#placed.clear();
		await Promise.all(all.map(environment => environment.close()));
	}

	[Symbol.asyncDispose](): Promise<void> {
		return this.close();
	}
}

function toTarget(url: string): RemoteTarget {
	if (url.trim() === '') throw protocolError('remote environment requires an exec-server url');
	if (url.trim().toLowerCase() === 'none')
		throw protocolError('remote environment cannot use disabled exec-server url');
	return targetFromUrl(url);
}

function requireOwnId(id: string): void {
	if (id === '') throw protocolError('environment id cannot be empty');
	if (id === LOCAL) throw protocolError(`environment id \`${LOCAL}\` is reserved for EnvironmentManager`);
}

function protocolError(message: string): Error {
	return invalidEnvironment(`exec-server protocol error: ${message}`);
}
