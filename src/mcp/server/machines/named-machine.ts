import {posix} from 'node:path';
import {nativePathOf, toPathUri} from '../../../client/paths.js';
import {FALLBACK_SHELL, parseShellName, type Shell} from '../../../client/run/shell-command.js';
import {ProtocolError} from '../../../client/session/client-errors.js';
import type {Environment} from '../../../environments/environment.js';
import type {EnvironmentInfo} from '../../../protocol/methods/environment-methods.js';
import type {EnvironmentLabels} from '../../../shared/labels.js';

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

const KEEPING = ['processAttach', 'processSpill', 'processWaitFor', 'processOnDisconnect'] as const;

/** A machine that tools work on, by the name a model knows it by. */
export class NamedMachine {
	readonly name: string;
	readonly environment: Environment;
	readonly labels: EnvironmentLabels;
	#facts: Promise<MachineFacts> | undefined;
	#knownFacts: MachineFacts | undefined;

	constructor(name: string, environment: Environment, labels: EnvironmentLabels = {}) {
		this.name = name;
		this.labels = labels;
		this.environment = environment;
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

	/** A path of this machine: absolute, below the home directory with `~`, or below the directory it works in. */
	async resolvePath(given: string): Promise<string> {
		if (/^(?:\/|file:|[A-Za-z]:[\\/]|\\\\)/.test(given)) return nativePathOf(given);
		const {cwd, home} = await this.facts();
		if (given !== '~' && !given.startsWith('~/')) return posix.join(cwd, given);
		if (home === undefined) throw new Error(`${this.name} does not tell its home directory`);
		return posix.join(home, given.slice(1));
	}

	async #readFacts(): Promise<MachineFacts> {
		try {
			this.#knownFacts = toFacts(await this.#readInfo());
			return this.#knownFacts;
		} catch (error) {
			this.#facts = undefined;
			throw error;
		}
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
