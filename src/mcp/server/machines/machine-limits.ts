import type {SandboxContext} from '../../../client/files/files.js';
import {toPathUri} from '../../../client/paths.js';
import {
	createRootPolicy,
	createSandboxPolicy,
	SANDBOX_PRESETS,
	type SandboxOption,
	type SandboxPreset,
	withoutWriting,
} from '../../../client/run/sandbox-policy.js';
import {suggestName} from '../../../shared/closest-name.js';
import {MachineRefusalError} from './machine-lack.js';

/** Limits of everything that is done on a machine; a call can narrow them, and nothing can widen them. */
export interface MachineLimits {
	/** The only directory of files and commands, as it was given. */
	readonly root?: string | undefined;
	/** A policy of one's own does not go with a root. */
	readonly sandbox?: SandboxOption | undefined;
	/** Whether sandboxed commands have the network of the machine. */
	readonly network?: boolean | undefined;
}

/** Directories of a machine that its limits depend on; what a call asks for is none of them. */
export interface LimitedPlace {
	/** The root without links; undefined if there is none. */
	readonly root: string | undefined;
	/** Workspace of `workspace-write`: the directory of the machine. */
	readonly workspace: string;
}

const GIVE_ROOT = 'start longarm mcp in another directory, or with --root';

/** Policy of file operations; undefined if they are not limited. */
export function filePolicy(limits: MachineLimits, {root, workspace}: LimitedPlace): SandboxContext | undefined {
	const {sandbox, network = false} = limits;
	if (root !== undefined)
		return createRootPolicy({root, access: presetOf(sandbox) ?? 'all', runsPrograms: false, network});
	return ownPolicy(limits, workspace);
}

/** Policy of a command that asks for a sandbox, or for none, in a directory; undefined if it is not limited. */
export function commandPolicy(
	limits: MachineLimits,
	{root, workspace}: LimitedPlace,
	{sandbox: asked, cwd}: {readonly sandbox: SandboxPreset | undefined; readonly cwd: string},
): SandboxContext | undefined {
	const {sandbox} = limits;
	const network = limits.network === true && asked === undefined;
	requireNarrower(sandbox, asked);
	const preset = asked ?? presetOf(sandbox);
	if (root !== undefined) return createRootPolicy({root, access: preset ?? 'all', runsPrograms: true, network});
	if (sandbox === undefined) return asked && createSandboxPolicy(asked, {cwd});
	if (typeof sandbox === 'object') {
		const own = ownPolicy(limits, workspace)!;
		return asked === undefined ? own : withoutWriting(own);
	}
	return createUsualPolicy(preset!, workspace, network);
}

/** Reads the sandbox that a call asks for; throws a `TypeError` for one that does not exist. */
export function readPreset(name: string | undefined): SandboxPreset | undefined {
	if (name === undefined) return undefined;
	const preset = SANDBOX_PRESETS.find(each => each === name);
	if (preset !== undefined) return preset;
	throw new TypeError(
		`sandbox: expected ${SANDBOX_PRESETS.join(' or ')}, not ${JSON.stringify(name)};${suggestName(name, SANDBOX_PRESETS)}`,
	);
}

/** In words, for models; undefined if there are no limits. */
export function describeLimits({root, sandbox, network = false}: MachineLimits): string | undefined {
	const parts = [
		root === undefined ? undefined : `only ${root} can be used`,
		sandbox === undefined ? undefined : `sandbox ${presetOf(sandbox) ?? 'with a policy of its owner'}`,
	].filter(part => part !== undefined);
	return parts.length === 0 ? undefined : `${parts.join(', ')}, ${network ? 'with' : 'without'} network`;
}

/** Whether anything is limited. */
export function hasLimits({root, sandbox}: MachineLimits): boolean {
	return root !== undefined || sandbox !== undefined;
}

/** The policy of the server's owner. Its directory is fixed, because the one of a call is chosen by the model. */
function ownPolicy({sandbox, network = false}: MachineLimits, workspace: string): SandboxContext | undefined {
	if (sandbox === undefined) return undefined;
	if (typeof sandbox !== 'object') return createUsualPolicy(sandbox, workspace, network);
	return {...sandbox, cwd: sandbox.cwd ?? toPathUri(workspace).href};
}

function createUsualPolicy(preset: SandboxPreset, cwd: string, network: boolean): SandboxContext {
	try {
		return createSandboxPolicy(preset, {cwd, network});
	} catch (error) {
		if (!(error instanceof TypeError)) throw error;
		throw new MachineRefusalError(`${error.message}; ${GIVE_ROOT}`, {cause: error});
	}
}

function presetOf(sandbox: SandboxOption | undefined): SandboxPreset | undefined {
	return typeof sandbox === 'string' ? sandbox : undefined;
}

function requireNarrower(own: SandboxOption | undefined, asked: SandboxPreset | undefined): void {
	const isWider = asked === 'workspace-write' && own !== undefined && own !== 'workspace-write';
	if (!isWider) return;
	const allowed = presetOf(own) ?? 'a policy of its own';
	throw new MachineRefusalError(`sandbox ${asked}: this server is limited to ${allowed}; leave sandbox out`);
}
