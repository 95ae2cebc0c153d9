import {posix} from 'node:path';
import {confineFiles} from '../../../client/files/confined-files.js';
import type {Files, SandboxContext} from '../../../client/files/files.js';
import {nativePathOf, toPathUri} from '../../../client/paths.js';
import type {SandboxPreset} from '../../../client/run/sandbox-policy.js';
import {FALLBACK_SHELL, parseShellName, type Shell} from '../../../client/run/shell-command.js';
import {ProtocolError} from '../../../client/session/client-errors.js';
import type {Environment} from '../../../environments/environment.js';
import type {EnvironmentInfo} from '../../../protocol/methods/environment-methods.js';
import type {EnvironmentLabels} from '../../../shared/labels.js';
import {MachineRefusalError} from './machine-lack.js';
import {commandPolicy, filePolicy, hasLimits, type LimitedPlace, type MachineLimits} from './machine-limits.js';

/** Facts about a machine that tools depend on. */
export interface MachineFacts {
	/** Undefined if the machine does not tell. */
	readonly os: string | undefined;
	readonly shell: Shell;
	/** Directory that commands and relative paths begin in. */
	readonly cwd: string;
	readonly home: string | undefined;
	/** Processes outlive this program, their output is on disk, and the machine itself waits for them. */
	readonly keepsProcesses: boolean;
	/** Processes can be listed, at least those of this session. */
	readonly listsProcesses: boolean;
	/** Input of a process can be ended without ending the process. */
	readonly closesInput: boolean;
	/** The screen of a terminal can be asked for. */
	readonly hasScreens: boolean;
	readonly forwardsPorts: boolean;
	/** A process can survive a crash of its server. */
	readonly hasDurable: boolean;
	/** People can watch and take over in a browser, at `/console/` of the server. */
	readonly hasConsole: boolean;
}

/** Bytes of a digest in the label of limited processes. */
const LIMITS_BYTES = 16;
const NOTHING_ASKED = {sandbox: undefined, cwd: '/'};
const KEEPING = ['processAttach', 'processSpill', 'processWaitFor', 'processOnDisconnect'] as const;

/** A machine that tools work on, by the name a model knows it by. */
export class NamedMachine {
	readonly name: string;
	readonly environment: Environment;
	readonly labels: EnvironmentLabels;
	readonly limits: MachineLimits;
	#facts: Promise<MachineFacts> | undefined;
	#knownFacts: MachineFacts | undefined;
	#root: string | undefined;
	#files: Files | undefined;

	constructor(name: string, environment: Environment, labels: EnvironmentLabels = {}, limits: MachineLimits = {}) {
		this.name = name;
		this.labels = labels;
		this.environment = environment;
		this.limits = limits;
	}

	/** Asks the machine, once; a failure is asked again by the next call. */
	facts(): Promise<MachineFacts> {
		this.#facts ??= this.#readFacts();
		return this.#facts;
	}

	/** The same as far as they are known. */
	get knownFacts(): MachineFacts | undefined {
		return this.#knownFacts;
	}

	/** Its files, limited as the machine is: the executor enforces it with every operation. */
	async files(): Promise<Files> {
		const {files} = this.environment;
		if (!hasLimits(this.limits)) return files;
		const place = await this.#place();
		this.#files ??= confineFiles(files, filePolicy(this.limits, place)!);
		return this.#files;
	}

	/** Policy of a command; undefined if it is not limited. */
	async policyFor(asked: SandboxPreset | undefined, cwd: string): Promise<SandboxContext | undefined> {
		if (asked === undefined && !hasLimits(this.limits)) return undefined;
		return commandPolicy(this.limits, await this.#place(), {sandbox: asked, cwd});
	}

	/**
	 * Labels of processes that this machine's limits hold for; empty without limits. Others are not looked at: whoever may
	 * type into them has no limits.
	 */
	async processLabels(): Promise<Readonly<Record<string, string>>> {
		const policy = hasLimits(this.limits) ? commandPolicy(this.limits, await this.#place(), NOTHING_ASKED) : undefined;
		if (!policy) return {};
		const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(JSON.stringify(policy)));
		return {limits: Buffer.from(digest).toString('hex', 0, LIMITS_BYTES)};
	}

	/**
	 * A path of this machine: absolute, below the home directory with `~`, or below the directory it works in. With a root,
	 * one outside of it is refused in words; a link that leads out is found by the executor.
	 */
	async resolvePath(given: string): Promise<string> {
		const path = await this.#toAbsolute(given);
		const {root} = await this.#place();
		if (root === undefined) return path;
		const normal = posix.normalize(path);
		const inside = [root, this.limits.root!].find(
			each => normal === each || normal.startsWith(`${each.replace(/\/$/, '')}/`),
		);
		if (inside !== undefined) return posix.join(root, normal.slice(inside.length));
		throw new MachineRefusalError(`${path} is outside of ${root}, to which this server is limited`);
	}

	async #toAbsolute(given: string): Promise<string> {
		if (/^(?:\/|file:|[A-Za-z]:[\\/]|\\\\)/.test(given)) return nativePathOf(given);
		const {cwd, home} = await this.facts();
		if (given !== '~' && !given.startsWith('~/')) return posix.join(cwd, given);
		if (home === undefined) throw new Error(`${this.name} does not tell its home directory`);
		return posix.join(home, given.slice(1));
	}

	async #place(): Promise<LimitedPlace> {
		const {cwd} = await this.facts();
		return {root: this.#root, workspace: cwd};
	}

	async #readFacts(): Promise<MachineFacts> {
		try {
			const facts = toFacts(await this.#readInfo());
			if (this.limits.root !== undefined) this.#root = await this.#findRoot(this.limits.root, facts);
			this.#knownFacts = this.#root === undefined ? facts : {...facts, cwd: this.#root};
			return this.#knownFacts;
		} catch (error) {
			this.#facts = undefined;
			throw error;
		}
	}

	/** Looked up once: what is below it decides about it no more. */
	async #findRoot(given: string, {cwd}: MachineFacts): Promise<string> {
		const {files} = this.environment;
		const root = nativePathOf(await files.canonicalize(given.startsWith('/') ? given : posix.join(cwd, given)));
		if ((await files.metadata(root)).isDirectory && root !== '/') return root;
		throw new MachineRefusalError(`--root ${given}: ${root} on ${this.name} is no directory that limits anything`);
	}

	async #readInfo(): Promise<EnvironmentInfo | undefined> {
		try {
			return await this.environment.info();
		} catch (error) {
			// An older server cannot describe itself.
			if (error instanceof ProtocolError) return undefined;
			throw error;
		}
	}
}

function toFacts(info: EnvironmentInfo | undefined): MachineFacts {
	const capabilities = info?.capabilities ?? {};
	const path = info?.shell.path ?? '';
	return {
		os: info?.platformOs,
		shell: path === '' ? FALLBACK_SHELL : {name: parseShellName(path), path},
		cwd: (info?.cwd && toPathUri(info.cwd).toNativeString('posix')) || '/',
		home: (info?.userHomeDir && toPathUri(info.userHomeDir).toNativeString('posix')) || undefined,
		keepsProcesses: KEEPING.every(name => capabilities[name] === true),
		listsProcesses: capabilities['processList'] === true,
		closesInput: capabilities['processCloseStdin'] === true,
		hasScreens: capabilities['processScreen'] === true,
		forwardsPorts: capabilities['portForward'] === true,
		hasDurable: capabilities['processDurable'] === true,
		hasConsole: capabilities['webConsole'] === true,
	};
}
