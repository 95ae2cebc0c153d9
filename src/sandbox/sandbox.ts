import type {EnforcerChoice, EnforcerName} from './enforcer.js';
import {hidePaths} from './hide-paths.js';
import {type Host, locatePath, readSmallText} from './host.js';
import {pinDirectories} from './pin-directories.js';
import {type SandboxedCommand, type SandboxPlan, unenforceableError, type WrappedCommand} from './plan.js';
import {
	type GlobScan,
	listPatterns,
	MAX_LOOKUP_CHARACTERS,
	type PolicyContext,
	type PolicySubject,
	type SandboxPolicy,
} from './policy.js';
import {resolvePlan} from './resolve-plan.js';
import {seatbeltCommand} from './seatbelt.js';
import {listEnforcers, requireEnforcer} from './select-enforcer.js';
import {WRITTEN_ROOTS} from './written-roots.js';

/** Paths that no plan shows. Landlock cannot hide one below another that is shown: such a plan is refused. */
export type ListHidden = (canHide: boolean) => readonly string[];

/** Sandbox of this machine. Detected lazily, when a policy needs it. */
export class Sandbox {
	/** Environment variables of the server. */
	readonly variables: Readonly<Record<string, string | undefined>>;
	readonly #listHidden: ListHidden;
	readonly #enforcer: EnforcerChoice;

	/** `variables` are the server's own environment; no plan shows the paths of `listHidden`. */
	constructor(
		variables: Readonly<Record<string, string | undefined>>,
		listHidden: ListHidden = () => [],
		enforcer: EnforcerChoice = 'auto',
	) {
		this.variables = variables;
		this.#listHidden = listHidden;
		this.#enforcer = enforcer;
	}

	/** Name in the protocol. */
	get type(): 'linuxSeccomp' | 'macosSeatbelt' {
		return process.platform === 'darwin' ? 'macosSeatbelt' : 'linuxSeccomp';
	}

	/** The way plans are enforced here; undefined on macOS. Throws where none works. */
	get enforcerName(): EnforcerName | undefined {
		return process.platform === 'linux' ? requireEnforcer(this.#enforcer).name : undefined;
	}

	/** True if the sandbox probably works, without a trial run. */
	get isLikelyAvailable(): boolean {
		return process.platform === 'linux' && listEnforcers(this.#enforcer).some(each => each.isLikely());
	}

	/**
	 * Resolves a policy for a process, by default for file operations of the server itself; undefined if it restricts
	 * nothing. Done at once, unless there are globs: then files have to be looked at, which takes as long as it takes.
	 */
	resolve(
		policy: SandboxPolicy,
		subject: PolicySubject = {cwd: undefined, temporaryDirectory: this.variables['TMPDIR']},
	): SandboxPlan | undefined | Promise<SandboxPlan | undefined> {
		const host: Host = {locate: createBoundedLocate(), findMatches: () => [], readText: readSmallText};
		const context = {...subject, host, written: WRITTEN_ROOTS};
		const scans = listPatterns(policy, context);
		return scans.length === 0 ? resolvePlan(policy, context) : this.#resolveWithGlobs(policy, context, scans);
	}

	async #resolveWithGlobs(policy: SandboxPolicy, context: PolicyContext, scans: readonly GlobScan[]) {
		const {MAX_GLOB_STEPS, findGlobMatches} = await import('./globs.js');
		const budget = {steps: MAX_GLOB_STEPS};
		const found = new Map<string, readonly string[]>();
		for (const {pattern, maxDepth} of scans) {
			if (!found.has(pattern)) found.set(pattern, await findGlobMatches(pattern, maxDepth, budget));
		}
		const findMatches = (pattern: string) => found.get(pattern)!;
		return resolvePlan(policy, {...context, host: {...context.host, findMatches}});
	}

	/** Wraps a command to run it under a plan. Throws where no sandbox works. */
	wrap(resolved: SandboxPlan, command: SandboxedCommand): WrappedCommand {
		const plan = pinDirectories(hidePaths(resolved, this.#listHidden(this.enforcerName !== 'landlock'), locatePath));
		if (process.platform === 'darwin') return seatbeltCommand(plan, command);
		if (process.platform !== 'linux') throw unenforceableError(`there is no sandbox for ${process.platform}`);
		return requireEnforcer(this.#enforcer).wrap(plan, command);
	}
}

/** Resolves the paths of one policy and refuses one that takes too long: it is done at once, while others wait. */
function createBoundedLocate(): Host['locate'] {
	let left = MAX_LOOKUP_CHARACTERS;
	return path =>
		locatePath(path, ({length}) => {
			left -= length;
			if (left < 0) throw unenforceableError('its paths are too long, or lead through too many links');
		});
}
