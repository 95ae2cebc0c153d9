import {Deferred} from '../../shared/async/deferred.js';
import {onAbort} from '../../shared/async/on-abort.js';
import {buildChildEnvironment, type Variables} from '../environment-variables.js';
import type {ManagedProcess} from '../managed-process.js';
import type {StartRequest} from '../prepare-spawn.js';
import type {ProcessTable} from '../process-table.js';
import {captureCommand} from './snapshot-scripts.js';

/** Time that the capture of a shell snapshot may take. */
export const MAX_CAPTURE_MS = 10_000;
/** Bytes of a shell snapshot, variables included. */
export const MAX_SNAPSHOT_BYTES = 512 * 1024;
/** Bytes of one argument or variable that the kernel takes, its terminating NUL included. */
export const MAX_ARGUMENT_BYTES = 128 * 1024;
/** Variables that a shell sets by itself, for the directory and the depth it runs at. */
const OWN_VARIABLES: ReadonlySet<string> = new Set(['PWD', 'OLDPWD', 'SHLVL', '_']);
/** Functions are part of the state. */
const EXPORTED_FUNCTION = /^BASH_FUNC_.*%%$/;

/** State of a login shell after its startup files. */
export interface ShellSnapshot {
	/** Commands that restore functions, aliases, options and the file mode mask. */
	readonly state: Uint8Array;
	readonly environment: Variables;
}

/** A capture that ran and whose result is of no use: it is not repeated. */
export class CaptureFailedError extends Error {}

/**
 * Runs the shell of a start request with its startup files, in the same directory, environment and sandbox, and returns the
 * state that it is in afterwards. The process is ended when `cancelled` is aborted.
 */
export async function captureSnapshot(
	{shellSnapshot, ...request}: StartRequest,
	table: ProcessTable,
	id: string,
	cancelled: AbortSignal,
): Promise<ShellSnapshot> {
	const argv = captureCommand(shellSnapshot!.shell, request.argv[0]!);
	const {cwd, env, environmentPolicy, sandbox} = request;
	const io = {kind: 'pipes', stdin: false} as const;
	const capture = {argv, arg0: undefined, cwd, env, environmentPolicy, sandbox, io, timeLimitMs: MAX_CAPTURE_MS};
	const started = table.start(id, capture);
	const process = table.find(id);
	const output = process && collectOutput(process);
	const unlisten = onAbort(cancelled, () => process?.terminate());
	try {
		await started;
		return parseSnapshot(await output!, request);
	} finally {
		unlisten();
		if (process) table.remove(process);
	}
}

/** Settles with standard output when the process has exited; rejects if it failed or printed too much. */
function collectOutput(process: ManagedProcess): Promise<Uint8Array> {
	const chunks: Uint8Array[] = [];
	const result = new Deferred<Uint8Array>();
	const cursor = process.log.drive(() => {
		for (let event = cursor.next(); event; event = cursor.next()) {
			if (event.kind === 'output') chunks.push(Buffer.from(event.bytes));
			// Programs that startup files leave running may hold the stream open.
			if (event.kind === 'exited') process.closeStreams();
			if (event.kind === 'closed') result.resolve(Buffer.concat(chunks));
		}
		cursor.commit();
		if (process.log.totalBytes > MAX_SNAPSHOT_BYTES) process.terminate();
	}, 0);
	return result.promise.then(bytes => {
		const {exitCode, reason} = process.log.exit!;
		if (bytes.length > MAX_SNAPSHOT_BYTES) throw new CaptureFailedError(`more than ${MAX_SNAPSHOT_BYTES} bytes`);
		if (reason === 'timeout') throw new CaptureFailedError(`no result within ${MAX_CAPTURE_MS} ms`);
		if (reason !== 'exit' || exitCode !== 0) throw new CaptureFailedError(`exit code ${exitCode}`);
		return bytes;
	});
}

function parseSnapshot(output: Uint8Array, request: StartRequest): ShellSnapshot {
	const end = output.indexOf(0);
	if (end < 0) throw new CaptureFailedError('no state was printed');
	return {state: output.subarray(0, end), environment: parseEnvironment(output.subarray(end + 1), request)};
}

/** Variables that the startup files have set, as far as the policy allows them. Those of this one request are left out. */
function parseEnvironment(bytes: Uint8Array, {env, environmentPolicy}: StartRequest): Variables {
	const captured = new Map<string, string>();
	for (const entry of decodeText(bytes).split('\0')) {
		const nameEnd = entry.indexOf('=');
		const [name, value] = [entry.slice(0, nameEnd), entry.slice(nameEnd + 1)];
		if (nameEnd <= 0 || OWN_VARIABLES.has(name) || EXPORTED_FUNCTION.test(name)) continue;
		if (Object.hasOwn(env, name) && env[name] === value) continue;
		if (Buffer.byteLength(entry) >= MAX_ARGUMENT_BYTES) throw new CaptureFailedError(`${name} is too long`);
		captured.set(name, value);
	}
	const variables = Object.fromEntries(captured);
	if (!environmentPolicy) return variables;
	return Object.fromEntries(buildChildEnvironment({}, {...environmentPolicy, inherit: 'all'}, variables));
}

function decodeText(bytes: Uint8Array): string {
	try {
		return new TextDecoder('utf-8', {fatal: true, ignoreBOM: true}).decode(bytes);
	} catch {
		throw new CaptureFailedError('the environment is not UTF-8');
	}
}
