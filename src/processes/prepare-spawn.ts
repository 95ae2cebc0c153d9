import {LongarmError} from '../shared/errors.js';
import {INHERITED_DESCRIPTOR, type SpawnRequest, type Wrapper} from './backends/backend.js';
import {buildChildEnvironment, type EnvironmentRules, type Variables} from './environment-variables.js';
import type {ProcessSharing} from './process-sharing.js';
import {requireProgramFile, resolveProgram} from './resolve-program.js';

/** Terminal size when the request names none. */
export const DEFAULT_TERMINAL = {columns: 80, rows: 24} as const;

export interface StartRequest {
	readonly argv: readonly string[];
	readonly arg0: string | undefined;
	/** Absolute, as raw bytes. */
	readonly cwd: Uint8Array;
	readonly env: Variables;
	readonly environmentPolicy: EnvironmentRules | undefined;
	readonly io: SpawnRequest['io'];
	/** The process is ended after this time. */
	readonly timeLimitMs?: number | undefined;
	/** Time the process outlives the connection of its session; by default as long as the session. */
	readonly keepDetachedMs?: number | undefined;
	/** Output is retained until its reader acknowledges it. */
	readonly isAcknowledged?: boolean | undefined;
	/** How other clients find and use it; none can by default. */
	readonly sharing?: ProcessSharing | undefined;
	/** Whether it outlives its session. */
	readonly outlivesSession?: boolean | undefined;
	/** Output is kept on disk. */
	readonly spill?: SpillRequest | undefined;
	/** Lives in a keeper, so that it survives the end of the server. */
	readonly isDurable?: boolean | undefined;
	/** The sandbox the process runs in. */
	readonly sandbox?: {readonly type: SandboxKind; readonly wrap: Wrap; readonly hasNetwork: boolean} | undefined;
	/** Set for a login shell whose startup files may be replaced by a snapshot of the state they lead to. */
	readonly shellSnapshot?: {readonly shell: SnapshotShell; readonly key: string} | undefined;
	/**
	 * Replaces the request after its process has taken its id and before it is spawned. A rejection leaves the request as
	 * it is. `cancelled` is aborted when the start is.
	 */
	readonly prepare?: ((cancelled: AbortSignal) => Promise<StartRequest>) | undefined;
	/** Content that the program can read from `INHERITED_DESCRIPTOR`. */
	readonly inherited?: Uint8Array | undefined;
}

/** Shells whose state can be captured and restored. */
export const SNAPSHOT_SHELLS = ['bash', 'zsh', 'sh'] as const;
export type SnapshotShell = (typeof SNAPSHOT_SHELLS)[number];

/** How the output of a process is kept on disk. */
export interface SpillRequest {
	readonly maxBytes?: number | undefined;
	readonly onFull?: 'pause' | 'dropOldest' | undefined;
	/** Input that the terminal shows is recorded, too. */
	readonly recordsInput?: boolean | undefined;
}

/** Sandbox types as named by the protocol. */
export type SandboxKind = 'linuxSeccomp' | 'macosSeatbelt';

/** Replaces the command by a wrapper that starts it and hands its variables over inside. */
export type Wrap = (command: {
	readonly program: string;
	readonly args: readonly string[];
	readonly arg0: string | undefined;
	readonly cwd: Uint8Array;
	readonly terminal: boolean;
	readonly environment: ReadonlyMap<string, string>;
	readonly inheritedFd: number | undefined;
}) => Pick<SpawnRequest, 'file' | 'argv'> & Wrapper;

/**
 * The environment of a wrapper. It runs outside the sandbox, and the dynamic linker and the C library obey variables: of
 * the client's none may reach it.
 */
const WRAPPER_ENVIRONMENT: ReadonlyMap<string, string> = new Map();

/** Resolves a start request into a spawn request; `own` are the server's environment variables. */
export function prepareSpawn(request: StartRequest, own: Readonly<Record<string, string | undefined>>): SpawnRequest {
	const [program = '', ...rest] = request.argv;
	if (program === '') throw spawnFailedError(`missing program for ${request.io.kind === 'pty' ? 'PTY' : 'pipe'} spawn`);
	const environment = buildChildEnvironment(request.env, request.environmentPolicy, own);
	refuseNulBytes(request, environment);
	const {arg0, cwd, io, sandbox, inherited} = request;
	// Resolved for a sandbox, too, so that a missing program is reported as such and not as the failure of a wrapper.
	const file = resolveProgram(program, environment.get('PATH'), cwd);
	if (sandbox) requireProgramFile(file, cwd);
	if (!sandbox) return {file, argv: [arg0 ?? program, ...rest], cwd, environment, io, inherited};
	const inheritedFd = inherited && INHERITED_DESCRIPTOR;
	const wrapped = sandbox.wrap({program, args: rest, arg0, cwd, terminal: io.kind === 'pty', environment, inheritedFd});
	return {
		file: wrapped.file,
		argv: wrapped.argv,
		cwd,
		environment: WRAPPER_ENVIRONMENT,
		io,
		wrapper: wrapped,
		inherited,
	};
}

/** C strings end at the first NUL byte: passing one on would silently truncate the text. */
function refuseNulBytes({argv, arg0}: StartRequest, environment: ReadonlyMap<string, string>): void {
	if ([...argv, arg0 ?? ''].some(hasNul)) throw spawnFailedError('nul byte found in provided data');
	for (const [name, value] of environment) {
		if (hasNul(name) || hasNul(value)) throw spawnFailedError('data provided contains a nul byte');
	}
}

function hasNul(text: string): boolean {
	return text.includes('\0');
}

function spawnFailedError(message: string): LongarmError {
	return new LongarmError('SPAWN_FAILED', {message});
}
