import {LongarmError} from '../shared/errors.js';
import type {SpawnRequest} from './backend.js';
import {childEnvironment, type EnvironmentPolicy, type Variables} from './environment-variables.js';
import {resolveProgram} from './resolve-program.js';

/** Size of a terminal nobody asked a size for. */
export const DEFAULT_TERMINAL = {columns: 80, rows: 24} as const;

export interface StartRequest {
	readonly argv: readonly string[];
	readonly arg0: string | undefined;
	/** Absolute, as raw bytes. */
	readonly cwd: Uint8Array;
	readonly env: Variables;
	readonly environmentPolicy: EnvironmentPolicy | undefined;
	readonly io: SpawnRequest['io'];
	/** The process is ended after this time. */
	readonly timeLimitMs?: number | undefined;
	/** How long the process outlives the connection of its session; by default as long as the session. */
	readonly keepDetachedMs?: number | undefined;
}

/** Turns what a caller asked for into what the operating system needs; `own` are the server's variables. */
export function prepareSpawn(request: StartRequest, own: Readonly<Record<string, string | undefined>>): SpawnRequest {
	const [program = '', ...rest] = request.argv;
	if (program === '') throw invalid(`missing program for ${request.io.kind === 'pty' ? 'PTY' : 'pipe'} spawn`);
	const environment = childEnvironment(request.env, request.environmentPolicy, own);
	refuseNulBytes(request, environment);
	return {
		file: resolveProgram(program, environment.get('PATH'), request.cwd),
		argv: [request.arg0 ?? program, ...rest],
		cwd: request.cwd,
		environment,
		io: request.io,
	};
}

/** The system's interfaces end at the first NUL byte: passing one on would cut the text short without a word. */
function refuseNulBytes({argv, arg0}: StartRequest, environment: ReadonlyMap<string, string>): void {
	if ([...argv, arg0 ?? ''].some(hasNul)) throw invalid('nul byte found in provided data');
	for (const [name, value] of environment) {
		if (hasNul(name) || hasNul(value)) throw invalid('data provided contains a nul byte');
	}
}

function hasNul(text: string): boolean {
	return text.includes('\0');
}

function invalid(message: string): LongarmError {
	return new LongarmError('SPAWN_FAILED', {message});
}
