import type {StartParams} from '../client/process/process-handle.js';
import {FALLBACK_SHELL, parseShellName, type Shell} from '../client/run/shell-command.js';
import type {EnvironmentInfo} from '../protocol/methods/environment-methods.js';
import type {ExecEnvironment} from './exec-environment.js';
import {ToolFailure} from './tool-failures.js';

const KNOWN_SHELLS: ReadonlySet<string> = new Set(['zsh', 'bash', 'sh', 'pwsh', 'powershell', 'cmd']);
/** Prints the path of a program: the given one if it is executable, else the one found in PATH. */
const FIND_SCRIPT = 'case $1 in */*) [ -f "$1" ] && [ -x "$1" ] && printf %s "$1" && exit;; esac; command -v "$2"';

/** Params of a start, without program and id. */
export type StartTemplate = Omit<StartParams, 'processId' | 'argv' | 'tty'>;

/** Shells of one environment, with a cache of those that were found. */
export class Shells {
	readonly #environment: ExecEnvironment;
	readonly #info: EnvironmentInfo;
	readonly #found = new Map<string, Promise<Shell>>();

	constructor(environment: ExecEnvironment, info: EnvironmentInfo) {
		this.#environment = environment;
		this.#info = info;
	}

	/** Resolves a shell by name or path. One that does not exist is replaced without notice, as upstream does. */
	async resolve(asked: string | undefined, processId: string, template: StartTemplate): Promise<Shell> {
		const own = this.#defaultShell();
		if (asked === undefined && own) return own;
		if (this.#environment.kind === 'remote') return this.#requireDefaultShell(asked);
		if (asked === undefined) return FALLBACK_SHELL;
		const name = parseShellName(asked);
		if (!KNOWN_SHELLS.has(name)) return FALLBACK_SHELL;
		if (name === own?.name && (asked === name || asked === own.path)) return own;
		if (this.#info.platformOs === 'windows') return {name, path: asked};
		const known = this.#found.get(asked) ?? this.#find(asked, name, {...template, processId});
		this.#found.set(asked, known);
		return known;
	}

	#defaultShell(): Shell | undefined {
		const {path} = this.#info.shell;
		return path === '' ? undefined : {name: parseShellName(path), path};
	}

	/** A remote environment offers only the shell it reports. */
	#requireDefaultShell(asked: string | undefined): Shell {
		const own = this.#defaultShell();
		const {id} = this.#environment;
		if (!own) throw new ToolFailure(`environment \`${id}\` does not report a shell`);
		if (asked === undefined || parseShellName(asked) === own.name) return own;
		throw new ToolFailure(`environment \`${id}\` only supports \`${own.name}\``);
	}

	async #find(asked: string, name: string, rest: Omit<StartParams, 'argv' | 'tty'>): Promise<Shell> {
		const argv = [FALLBACK_SHELL.path, '-c', FIND_SCRIPT, FALLBACK_SHELL.name, asked, name];
		let path = '';
		try {
			const {process} = await this.#environment.processes.start({...rest, argv, tty: false});
			const decoder = new TextDecoder();
			for await (const piece of process.output()) {
				if (piece.kind === 'output') path += decoder.decode(piece.bytes, {stream: true});
			}
		} catch {
			// The start of the command itself will report the failure.
			this.#found.delete(asked);
		}
		path = path.trim();
		return path.startsWith('/') ? {name, path} : FALLBACK_SHELL;
	}
}
