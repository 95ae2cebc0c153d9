import type {EnvironmentInfo} from '../protocol/methods/environment-methods.js';
import {PathUri} from '../protocol/path-uri/path-uri.js';
import {randomHex} from '../shared/random-id.js';
import type {ExecEnvironment} from './exec-environment.js';
import type {ExecEvent} from './exec-events.js';
import type {CallContext, UnifiedExecOptions} from './exec-options.js';
import {ExecSession} from './exec-session.js';
import {overlayOf, policyOf} from './exec-variables.js';
import {Shells, shellArguments} from './shells.js';
import type {ExecCommandArguments} from './tool-arguments.js';
import {LOGIN_FORBIDDEN, startFailed, ToolFailure} from './tool-failures.js';

/** Makes an id of a process one that no other user of the same executor has. */
const PROCESS_ID_BYTES = 16;
const CALL_ID_BYTES = 8;

/** Starts commands in one environment. */
export class Spawner {
	readonly environment: ExecEnvironment;
	readonly #options: UnifiedExecOptions;
	readonly #emit: (event: ExecEvent) => void;
	#known: Promise<{info: EnvironmentInfo; shells: Shells}> | undefined;

	constructor(environment: ExecEnvironment, options: UnifiedExecOptions, emit: (event: ExecEvent) => void) {
		this.environment = environment;
		this.#options = options;
		this.#emit = emit;
	}

	/** False also while nobody knows: the start that follows will tell why. */
	async isWindows(): Promise<boolean> {
		try {
			return (await this.#learn()).info.platformOs === 'windows';
		} catch {
			return false;
		}
	}

	async spawn(id: number, args: ExecCommandArguments, context: CallContext): Promise<ExecSession> {
		try {
			return await this.#spawn(id, args, context);
		} catch (error) {
			if (error instanceof ToolFailure) throw error;
			throw startFailed(error, this.environment);
		}
	}

	async #spawn(id: number, args: ExecCommandArguments, context: CallContext): Promise<ExecSession> {
		const {loginShells = true} = this.#options;
		if (args.login && !loginShells) throw new ToolFailure(LOGIN_FORBIDDEN);
		const {info, shells} = await this.#learn();
		const cwd = workingDirectory(info, args.workdir);
		const callId = context.callId ?? `call-${randomHex(CALL_ID_BYTES)}`;
		const template = {
			cwd: cwd.href,
			env: overlayOf(this.#options, callId),
			envPolicy: policyOf(this.#options),
			metadata: {threadId: uuidOrNothing(this.#options.threadId), toolCallId: callId},
		};
		const shell = await shells.resolve(args.shell, processIdOf(id), template);
		const argv = shellArguments(shell, args.cmd, args.login ?? loginShells);
		const params = {...template, processId: processIdOf(id), argv, tty: args.tty};
		const {process: handle} = await this.environment.processes.start(params);
		const {closeGraceMs, strictCompat} = this.#options;
		return new ExecSession({
			id,
			environment: this.environment,
			handle,
			tty: args.tty,
			facts: {
				callId,
				processId: String(id),
				turnId: context.turnId,
				startedAtMs: Date.now(),
				argv,
				cwd: displayPath(cwd),
				command: args.cmd,
				source: 'unified_exec_startup',
			},
			closeGraceMs,
			strictCompat,
			emit: this.#emit,
		});
	}

	#learn(): Promise<{info: EnvironmentInfo; shells: Shells}> {
		this.#known ??= this.#ask();
		return this.#known;
	}

	async #ask(): Promise<{info: EnvironmentInfo; shells: Shells}> {
		try {
			const info = await this.environment.info();
			return {info, shells: new Shells(this.environment, info)};
		} catch (error) {
			this.#known = undefined;
			throw error;
		}
	}
}

function processIdOf(id: number): string {
	return `${id}-${randomHex(PROCESS_ID_BYTES)}`;
}

/** Servers that want to know it want it in this form. */
function uuidOrNothing(id: string | undefined): string | undefined {
	return id !== undefined && /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(id) ? id : undefined;
}

/** Where a command runs: what was asked for, seen from the environment's own directory. Throws for what is no path. */
export function workingDirectory(info: EnvironmentInfo, workdir: string | undefined): PathUri {
	const base = PathUri.parse(info.cwd ?? info.userHomeDir ?? 'file:///');
	if (workdir === undefined || workdir === '') return base;
	if (base.convention === 'posix') return PathUri.fromNative(joined(displayPath(base), workdir, /^\//, '/'));
	return PathUri.fromNative(joined(displayPath(base), workdir, /^(?:[A-Za-z]:[\\/]|[\\/]{2})/, '\\'), 'windows');
}

/** A path as people of that machine write it; the URI where it has no such form. */
export function displayPath(uri: PathUri): string {
	if (uri.convention === 'windows') return uri.toWindowsPath();
	return uri.toNativeString('posix') ?? uri.href;
}

function joined(base: string, path: string, absolute: RegExp, separator: string): string {
	return absolute.test(path) ? path : `${base}${separator}${path}`;
}
