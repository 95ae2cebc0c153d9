import type {StartParams} from '../client/process/process-handle.js';
import type {EnvironmentInfo} from '../protocol/methods/environment-methods.js';
import type {ExecEnvironment} from './exec-environment.js';
import {ToolFailure} from './tool-failures.js';

export interface Shell {
	readonly name: string;
	readonly path: string;
}

/** Every POSIX system has it; it stands in for what is not there. */
const LAST_RESORT: Shell = {name: 'sh', path: '/bin/sh'};
const KNOWN: ReadonlySet<string> = new Set(['zsh', 'bash', 'sh', 'pwsh', 'powershell', 'cmd']);
/** Prints where the program is: at the path it was given with, or on the search path. */
const FIND = 'case $1 in */*) [ -f "$1" ] && [ -x "$1" ] && printf %s "$1" && exit;; esac; command -v "$2"';

/** `/usr/bin/zsh`, `C:\\tools\\pwsh.exe` → `zsh`, `pwsh`. */
export function shellName(path: string): string {
	const file = path.split(/[\\/]/).at(-1)!;
	return file.replace(/\.[^.]*$/, '').toLowerCase();
}

/** The command line that makes a shell run a command. */
export function shellArguments({name, path}: Shell, command: string, isLogin: boolean): string[] {
	switch (name) {
		case 'pwsh':
		case 'powershell':
			return [path, ...(isLogin ? [] : ['-NoProfile']), '-Command', command];
		case 'cmd':
			return [path, '/c', command];
		default:
			return [path, isLogin ? '-lc' : '-c', command];
	}
}

/** How to start a helper program in an environment. */
export type StartTemplate = Omit<StartParams, 'processId' | 'argv' | 'tty'>;

/** The shells of one environment. What was found is remembered. */
export class Shells {
	readonly #environment: ExecEnvironment;
	readonly #info: EnvironmentInfo;
	readonly #found = new Map<string, Promise<Shell>>();

	constructor(environment: ExecEnvironment, info: EnvironmentInfo) {
		this.#environment = environment;
		this.#info = info;
	}

	/** A shell by its name or path. One that does not exist is replaced in silence, as the peers do it. */
	async resolve(asked: string | undefined, processId: string, template: StartTemplate): Promise<Shell> {
		const own = this.#own();
		if (asked === undefined && own) return own;
		if (this.#environment.kind === 'remote') return this.#reported(asked);
		if (asked === undefined) return LAST_RESORT;
		const name = shellName(asked);
		if (!KNOWN.has(name)) return LAST_RESORT;
		if (name === own?.name && (asked === name || asked === own.path)) return own;
		if (this.#info.platformOs === 'windows') return {name, path: asked};
		const known = this.#found.get(asked) ?? this.#find(asked, name, {...template, processId});
		this.#found.set(asked, known);
		return known;
	}

	#own(): Shell | undefined {
		const {path} = this.#info.shell;
		return path === '' ? undefined : {name: shellName(path), path};
	}

	/** Behind an exec server there is one shell to choose from. */
	#reported(asked: string | undefined): Shell {
		const own = this.#own();
		const {id} = this.#environment;
		if (!own) throw new ToolFailure(`environment \`${id}\` does not report a shell`);
		if (asked === undefined || shellName(asked) === own.name) return own;
		throw new ToolFailure(`environment \`${id}\` only supports \`${own.name}\``);
	}

	async #find(asked: string, name: string, rest: Omit<StartParams, 'argv' | 'tty'>): Promise<Shell> {
		const argv = [LAST_RESORT.path, '-c', FIND, LAST_RESORT.name, asked, name];
		let path = '';
		try {
			const {process} = await this.#environment.processes.start({...rest, argv, tty: false});
			const decoder = new TextDecoder();
			for await (const piece of process.output()) {
				if (piece.kind === 'output') path += decoder.decode(piece.bytes, {stream: true});
			}
		} catch {
			// An executor in such trouble will say so when the command itself is started.
			this.#found.delete(asked);
		}
		path = path.trim();
		return path.startsWith('/') ? {name, path} : LAST_RESORT;
	}
}
