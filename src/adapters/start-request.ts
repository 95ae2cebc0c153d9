import {isUtf8} from 'node:buffer';
import type {SpawnRequest} from '../processes/backends/backend.js';
import {buildChildEnvironment} from '../processes/environment-variables.js';
import {DEFAULT_TERMINAL, SNAPSHOT_SHELLS, type StartRequest} from '../processes/prepare-spawn.js';
import {requireLabels, requireName} from '../processes/process-sharing.js';
import type {Params} from '../protocol/methods/method-table.js';
import type {PathUri} from '../protocol/path-uri/path-uri.js';
import {INVALID_PARAMS, RpcError} from '../protocol/wire/error-codes.js';
import type {SandboxPlan} from '../sandbox/plan.js';
import type {Sandbox} from '../sandbox/sandbox.js';
import {errorMessage, LongarmError} from '../shared/errors.js';

/** Longest time a process may outlive its connection: 30 days. */
export const MAX_KEEP_DETACHED_MS = 30 * 24 * 60 * 60_000;
/** Bytes of the name under which a client groups its shell snapshots. */
const MAX_SNAPSHOT_SCOPE_BYTES = 256;

/**
 * Converts the params of `process/start`. Without `sandbox` a request for a sandbox is refused. Done at once, unless files
 * have to be looked at for the policy.
 */
export function toStartRequest(params: Params<'process/start'>): StartRequest;
export function toStartRequest(params: Params<'process/start'>, sandbox: Sandbox): StartRequest | Promise<StartRequest>;
export function toStartRequest(
	params: Params<'process/start'>,
	sandbox?: Sandbox,
): StartRequest | Promise<StartRequest> {
	requireArgv(params.argv);
	const cwd = toStartDirectory(params.cwd);
	refuseUnsupported(params);
	const resolved = resolveSandbox(params, cwd, sandbox);
	return resolved instanceof Promise
		? resolved.then(found => createRequest(params, cwd, found))
		: createRequest(params, cwd, resolved);
}

function createRequest(
	params: Params<'process/start'>,
	cwd: Uint8Array,
	sandbox: StartRequest['sandbox'],
): StartRequest {
	return {
		argv: params.argv,
		arg0: params.arg0 ?? undefined,
		cwd,
		env: params.env,
		environmentPolicy: params.envPolicy ?? undefined,
		io: toSpawnIo(params),
		timeLimitMs: params.timeoutMs ?? undefined,
		keepDetachedMs: toKeepDetachedMs(params.onDisconnect ?? undefined),
		isAcknowledged: params.acknowledged,
		...toSharing(params),
		sandbox,
		...(params.shellSnapshot && {shellSnapshot: toShellSnapshot(params, params.shellSnapshot)}),
	};
}

/** Members that concern other clients and the time after this one; most starts have none of them. */
function toSharing(
	params: Params<'process/start'>,
): Pick<StartRequest, 'sharing' | 'outlivesSession' | 'spill' | 'isDurable'> {
	const {name, labels, share, spill, record, durable, onDisconnect} = params;
	const isShared = name != null || labels || share;
	return {
		...(isShared && {
			sharing: {
				name: name == null ? undefined : requireName(name),
				labels: requireLabels(labels ?? {}),
				observe: share?.observe ?? 'owner',
				drive: share?.drive ?? 'owner',
			},
		}),
		...(onDisconnect === 'keep' && {outlivesSession: true}),
		...(durable && {isDurable: true, outlivesSession: true}),
		// The keeper of a durable process is read through its files, and a recording is a log with more in it.
		...((spill || record || durable) && {
			spill: {
				maxBytes: spill?.maxBytes ?? undefined,
				onFull: spill?.onFull ?? undefined,
				recordsInput: record?.input ?? false,
			},
		}),
	};
}

/** Returns undefined for a command that no login shell runs: a snapshot would change its meaning. */
function toShellSnapshot(
	{argv, cwd, envPolicy, sandbox}: Params<'process/start'>,
	wanted: NonNullable<Params<'process/start'>['shellSnapshot']>,
): StartRequest['shellSnapshot'] {
	const {scopeId, shell} = wanted;
	if (scopeId === '' || Buffer.byteLength(scopeId) > MAX_SNAPSHOT_SCOPE_BYTES) {
		const message = `shell snapshot scope must be non-empty and at most ${MAX_SNAPSHOT_SCOPE_BYTES} bytes`;
		throw new RpcError(INVALID_PARAMS, message);
	}
	if (argv.length < 3 || argv[0] !== shell.path || argv[1] !== '-lc') return undefined;
	const known = SNAPSHOT_SHELLS.find(name => name === shell.name);
	if (!known) throw new RpcError(INVALID_PARAMS, `shell snapshots are unsupported for shell \`${shell.name}\``);
	return {shell: known, key: JSON.stringify([wanted, cwd.href, envPolicy, sandbox])};
}

export function requireArgv(argv: readonly string[]): void {
	if (argv.length === 0) throw new RpcError(INVALID_PARAMS, 'argv must not be empty');
}

export function toStartDirectory(uri: PathUri): Uint8Array {
	try {
		return uri.toNativeBytes(process.platform);
	} catch (error) {
		const reason = errorMessage(error);
		throw new RpcError(INVALID_PARAMS, `cwd URI \`${uri.href}\` is not valid on this exec-server host: ${reason}`);
	}
}

export function toPipesOrTerminal(tty: boolean, stdin: boolean): SpawnRequest['io'] {
	return tty ? {kind: 'pty', ...DEFAULT_TERMINAL} : {kind: 'pipes', stdin};
}

function toSpawnIo({io, tty, pipeStdin}: Params<'process/start'>): SpawnRequest['io'] {
	if (!io) return toPipesOrTerminal(tty, pipeStdin);
	if ('pty' in io) return {kind: 'pty', columns: io.pty.cols, rows: io.pty.rows};
	return {kind: 'pipes', stdin: io.pipe.stdin === 'open'};
}

function toKeepDetachedMs(
	policy: NonNullable<Params<'process/start'>['onDisconnect']> | undefined,
): number | undefined {
	if (policy === undefined || policy === 'endWithSession' || policy === 'keep') return undefined;
	if (policy === 'endAtOnce') return 0;
	if (policy.keepForMs <= MAX_KEEP_DETACHED_MS) return policy.keepForMs;
	throw new RpcError(INVALID_PARAMS, `keepForMs must not exceed ${MAX_KEEP_DETACHED_MS}`);
}

/** Refuses restrictions that cannot be enforced, instead of ignoring them. */
function refuseUnsupported({sandbox, networkProxy, enforceManagedNetwork}: Params<'process/start'>): void {
	if (networkProxy) throw notSupportedError('network proxies are not supported by this executor');
	if (sandbox && enforceManagedNetwork) {
		throw notSupportedError('sandbox intent cannot be enforced on this executor: it has no managed network');
	}
}

/** Resolves the sandbox plan before the process takes its id, so that a plan that cannot be enforced starts nothing. */
function resolveSandbox(
	{sandbox: context, env, envPolicy}: Params<'process/start'>,
	cwd: Uint8Array,
	sandbox: Sandbox | undefined,
): StartRequest['sandbox'] | Promise<StartRequest['sandbox']> {
	if (!context) return undefined;
	if (!sandbox) throw notSupportedError('sandbox intent cannot be enforced on this executor');
	const directory = isUtf8(cwd) ? Buffer.from(cwd).toString() : undefined;
	const enforce = (plan: SandboxPlan | undefined): StartRequest['sandbox'] =>
		plan && {
			type: sandbox.type,
			wrap: command => sandbox.wrap(plan, {...command, cwd: directory}),
			hasNetwork: plan.network === 'host',
		};
	const environment = buildChildEnvironment(env, envPolicy ?? undefined, sandbox.variables);
	const plan = sandbox.resolve(context, {cwd: directory, temporaryDirectory: environment.get('TMPDIR')});
	return plan instanceof Promise ? plan.then(enforce) : enforce(plan);
}

function notSupportedError(message: string): LongarmError {
	return new LongarmError('NOT_SUPPORTED', {message});
}
