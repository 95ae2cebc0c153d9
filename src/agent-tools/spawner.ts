import {startOn} from '../client/run/command.js';
import {toSandboxContext} from '../client/run/sandbox-policy.js';
import {createShellArgv} from '../client/run/shell-command.js';
import type {EnvironmentInfo} from '../protocol/methods/environment-methods.js';
import {PathUri} from '../protocol/path-uri/path-uri.js';
import {randomHex} from '../shared/random-id.js';
import type {ExecEnvironment} from './exec-environment.js';
import type {ExecEvent} from './exec-events.js';
import type {CallContext, UnifiedExecOptions} from './exec-options.js';
import {ExecSession} from './exec-session.js';
import {createEnvironmentPolicy, createOverlay} from './exec-variables.js';
import {Shells} from './shells.js';
import type {ExecCommandArguments} from './tool-arguments.js';
import {LOGIN_FORBIDDEN, startFailedError, ToolFailure} from './tool-failures.js';

/** Random part of a process id: makes it unique among all clients of the executor. */
const PROCESS_ID_BYTES = 16;
const CALL_ID_BYTES = 8;

/** Starts commands in one environment. */
export class Spawner {
	readonly environment: ExecEnvironment;
	readonly #options: UnifiedExecOptions;
	readonly #emit: (event: ExecEvent) => void;
	#facts: Promise<{info: EnvironmentInfo; shells: Shells}> | undefined;

	constructor(environment: ExecEnvironment, options: UnifiedExecOptions, emit: (event: ExecEvent) => void) {
		this.environment = environment;
		this.#options = options;
		this.#emit = emit;
	}

	/** False also if the environment cannot be asked: the start that follows reports the reason. */
	async isWindows(): Promise<boolean> {
		try {
			return (await this.#loadFacts()).info.platformOs === 'windows';
		} catch {
			return false;
		}
	}

	async spawn(id: number, args: ExecCommandArguments, context: CallContext): Promise<ExecSession> {
		try {
			return await this.#spawn(id, args, context);
		} catch (error) {
			if (error instanceof ToolFailure) throw error;
			throw startFailedError(error, this.environment);
		}
	}

	async #spawn(id: number, args: ExecCommandArguments, context: CallContext): Promise<ExecSession> {
		const {loginShells = true, sandbox} = this.#options;
		if (args.login && !loginShells) throw new ToolFailure(LOGIN_FORBIDDEN);
		const {info, shells} = await this.#loadFacts();
		const cwd = resolveWorkingDirectory(info, args.workdir);
		const callId = context.callId ?? `call-${randomHex(CALL_ID_BYTES)}`;
		const template = {
			cwd: cwd.href,
			env: createOverlay(this.#options, callId),
			envPolicy: createEnvironmentPolicy(this.#options),
			metadata: {threadId: parseUuid(this.#options.threadId), toolCallId: callId},
			...(sandbox && {sandbox: toSandboxContext(sandbox, resolveWorkingDirectory(info, undefined))}),
		};
		const shell = await shells.resolve(args.shell, createProcessId(id), template);
		const argv = createShellArgv(shell, args.cmd, args.login ?? loginShells);
		const params = {...template, processId: createProcessId(id), argv, tty: args.tty};
		const {process: handle} = await startOn(this.environment, params);
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
				cwd: toDisplayPath(cwd),
				command: args.cmd,
				source: 'unified_exec_startup',
			},
			closeGraceMs,
			strictCompat,
			emit: this.#emit,
		});
	}

	#loadFacts(): Promise<{info: EnvironmentInfo; shells: Shells}> {
		this.#facts ??= this.#requestFacts();
		return this.#facts;
	}

	async #requestFacts(): Promise<{info: EnvironmentInfo; shells: Shells}> {
		try {
			const info = await this.environment.info();
			return {info, shells: new Shells(this.environment, info)};
		} catch (error) {
			this.#facts = undefined;
			throw error;
		}
	}
}

function createProcessId(id: number): string {
	return `${id}-${randomHex(PROCESS_ID_BYTES)}`;
}

/** Thread id for the metadata of a start; servers accept UUIDs only. */
function parseUuid(id: string | undefined): string | undefined {
	return id !== undefined && /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(id) ? id : undefined;
}

/** Resolves the requested directory against that of the environment. Throws a `PathUriError` if it is no path. */
export function resolveWorkingDirectory(info: EnvironmentInfo, workdir: string | undefined): PathUri {
	const base = PathUri.parse(info.cwd ?? info.userHomeDir ?? 'file:///');
	if (workdir === undefined || workdir === '') return base;
	if (base.convention === 'posix') return PathUri.fromNative(resolvePath(toDisplayPath(base), workdir, /^\//, '/'));
	return PathUri.fromNative(resolvePath(toDisplayPath(base), workdir, /^(?:[A-Za-z]:[\\/]|[\\/]{2})/, '\\'), 'windows');
}

/** Native path for messages; the URI if the path is not UTF-8. */
export function toDisplayPath(uri: PathUri): string {
	if (uri.convention === 'windows') return uri.toWindowsPath();
	return uri.toNativeString('posix') ?? uri.href;
}

function resolvePath(base: string, path: string, absolute: RegExp, separator: string): string {
	return absolute.test(path) ? path : `${base}${separator}${path}`;
}
