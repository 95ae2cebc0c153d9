import {INVALID_PARAMS, RpcError} from '../../protocol/wire/error-codes.js';
import type {SandboxContext} from '../files/files.js';
import {nativePathOf, type Path, toPathUri} from '../paths.js';
import type {ProcessStarter, StartedProcess, StartOptions, StartParams} from '../process/process-handle.js';
import {RejectedError} from '../session/client-errors.js';

/**
 * `read-only`: every file can be read, none written, and there is no network. `workspace-write`: the same, and the working
 * directory, `/tmp` and `TMPDIR` can be written, except `.git`, `.codex` and `.agents` directly in them.
 */
export type SandboxPreset = 'read-only' | 'workspace-write';
/** Names of the usual policies. */
export const SANDBOX_PRESETS: readonly SandboxPreset[] = ['read-only', 'workspace-write'];

/** A usual policy by its name, or a policy as it is on the wire. */
export type SandboxOption = SandboxPreset | SandboxContext;

/** Facts a usual policy depends on, and grants that are added to it. */
export interface SandboxPolicyOptions {
	/** Working directory of the process, absolute. */
	readonly cwd: Path;
	/** Further directories and files that can be written. */
	readonly writable?: readonly Path[] | undefined;
	/** Whether the process has the network of the machine. */
	readonly network?: boolean | undefined;
}

type ManagedFiles = Extract<SandboxContext['permissions'], {type: 'managed'}>['file_system'];
type Entry = Extract<ManagedFiles, {type: 'restricted'}>['entries'][number];

/** Names below a writable directory that decide what other programs run later. */
const PROTECTED_NAMES = ['.git', '.codex', '.agents'];

/** A usual policy as it is on the wire. Throws for a working directory with which it would protect nothing. */
export function createSandboxPolicy(preset: SandboxPreset, options: SandboxPolicyOptions): SandboxContext {
	const cwd = toPathUri(options.cwd);
	if (preset === 'workspace-write' && /^file:\/\/[^/]*\/(?:[A-Za-z]:\/?)?$/.test(cwd.href)) {
		throw new TypeError(
			`the sandbox workspace-write would make the whole disk writable: the working directory is ${nativePathOf(cwd)}`,
		);
	}
	const added = (options.writable ?? []).map(path => ({
		path: {type: 'path' as const, path: toPathUri(path).href},
		access: 'write' as const,
	}));
	return {
		permissions: {
			type: 'managed',
			file_system: {type: 'restricted', entries: [...presetEntries(requirePreset(preset)), ...added]},
			network: options.network ? 'enabled' : 'restricted',
		},
		windowsSandboxLevel: 'disabled',
		cwd: cwd.href,
		workspaceRoots: [cwd.href],
	};
}

/** Limits of a policy that shows one directory. */
export interface RootPolicyOptions {
	/** The directory, absolute and without links. */
	readonly root: Path;
	/** `all` allows writing everything in it; the other two are as in the usual policies. */
	readonly access: SandboxPreset | 'all';
	/** Whether the directories of programs and libraries can be read, and there is a private `/tmp`; files alone need neither. */
	readonly runsPrograms: boolean;
	readonly network: boolean;
}

/** A policy that shows a directory and, for programs, what they need to run; nothing else of the machine can be read. */
export function createRootPolicy({root, access, runsPrograms, network}: RootPolicyOptions): SandboxContext {
	const {href} = toPathUri(root);
	const entries = [
		...(runsPrograms ? [toEntry({kind: 'minimal'}, 'read')] : []),
		toEntry({kind: 'project_roots'}, access === 'read-only' ? 'read' : 'write'),
		// The executor protects those that are not named.
		...(access === 'read-only' ? [] : protectedEntries(access === 'all' ? 'write' : 'read')),
	];
	return {
		permissions: {
			type: 'managed',
			file_system: {type: 'restricted', entries},
			network: network ? 'enabled' : 'restricted',
		},
		windowsSandboxLevel: 'disabled',
		cwd: href,
		workspaceRoots: [href],
	};
}

/** The same policy without the right to write, and without a network. */
export function withoutWriting(policy: SandboxContext): SandboxContext {
	const {permissions} = policy;
	const files =
		permissions.type === 'managed' && permissions.file_system.type === 'restricted'
			? permissions.file_system
			: {type: 'restricted' as const, entries: presetEntries('read-only')};
	const entries = files.entries.map((entry): Entry => (entry.access === 'write' ? {...entry, access: 'read'} : entry));
	return {...policy, permissions: {type: 'managed', file_system: {...files, entries}, network: 'restricted'}};
}

/** The policy of an option; `cwd` is the working directory of the process. */
export function toSandboxContext(sandbox: SandboxOption, cwd: Path): SandboxContext {
	return typeof sandbox === 'object' ? sandbox : createSandboxPolicy(sandbox, {cwd});
}

/** Starts a process. One whose sandbox the executor does not say to enforce is ended, and the start is rejected. */
export async function startEnforced(
	processes: ProcessStarter,
	params: StartParams,
	options?: StartOptions,
): Promise<StartedProcess> {
	const started = await processes.start(params, options);
	const isEnforced =
		started.sandboxType !== undefined && started.sandboxType !== null && started.sandboxType !== 'none';
	if (!params.sandbox || isEnforced || !isRestricting(params.sandbox)) return started;
	// Output that nobody reads would hold back the answer.
	await started.process.output().return?.();
	await started.process.terminate().catch(() => {});
	throw new RejectedError(
		new RpcError(
			INVALID_PARAMS,
			'sandbox intent cannot be enforced on this executor: it started the process without one',
			{
				code: 'NOT_SUPPORTED',
				hint: 'The process was ended. Use an executor that enforces sandboxes, such as longarm on Linux.',
			},
		),
	);
}

function presetEntries(preset: SandboxPreset): Entry[] {
	const everything = toEntry({kind: 'root'}, 'read');
	if (preset === 'read-only') return [everything];
	return [
		everything,
		toEntry({kind: 'project_roots'}, 'write'),
		toEntry({kind: 'slash_tmp'}, 'write'),
		toEntry({kind: 'tmpdir'}, 'write'),
		...protectedEntries('read'),
	];
}

function protectedEntries(access: 'read' | 'write'): Entry[] {
	return PROTECTED_NAMES.map(
		(subpath): Entry => ({...toEntry({kind: 'project_roots', subpath}, access), missing_path_behavior: 'skip'}),
	);
}

function toEntry(value: Extract<Entry['path'], {type: 'special'}>['value'], access: 'read' | 'write'): Entry {
	return {path: {type: 'special', value}, access};
}

function requirePreset(preset: string): SandboxPreset {
	const found = SANDBOX_PRESETS.find(name => name === preset);
	if (found !== undefined) return found;
	throw new TypeError(`unknown sandbox \`${preset}\`: expected ${SANDBOX_PRESETS.join(', ')} or a policy`);
}

/** Whether an executor that enforces the policy starts a sandbox for it. */
function isRestricting({permissions}: SandboxContext): boolean {
	if (permissions.type === 'disabled') return false;
	if (permissions.network === 'restricted') return true;
	if (permissions.type === 'external' || permissions.file_system.type === 'unrestricted') return false;
	const {entries} = permissions.file_system;
	return !entries.some(({path, access}) => access === 'write' && path.type === 'special' && path.value.kind === 'root');
}
