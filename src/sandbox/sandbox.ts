import {bubblewrapArguments, bubblewrapVariables, requireFewArguments} from './bubblewrap.js';
import {isBubblewrapLikely, requireBubblewrap} from './detect-bubblewrap.js';
import {findGlobMatches} from './globs.js';
import {hidePaths} from './hide-paths.js';
import {type Host, locatePath, readSmallText} from './host.js';
import {pinDirectories} from './pin-directories.js';
import {type SandboxedCommand, type SandboxPlan, unenforceableError, type WrappedCommand} from './plan.js';
import type {SandboxPolicy} from './policy.js';
import {resolvePlan} from './resolve-plan.js';
import {seatbeltCommand} from './seatbelt.js';
import {seccompFilter} from './seccomp-filter.js';

/** Sandbox of this machine. Detected lazily, when a policy needs it. */
export class Sandbox {
	readonly #host: Host;
	readonly #hiddenPaths: readonly string[];

	/** `variables` are the server's own environment, for TMPDIR; `hiddenPaths` are shown by no plan. */
	constructor(variables: Readonly<Record<string, string | undefined>>, hiddenPaths: readonly string[] = []) {
		this.#hiddenPaths = hiddenPaths;
		this.#host = {
			locate: locatePath,
			findMatches: findGlobMatches,
			readText: readSmallText,
			temporaryDirectory: variables['TMPDIR'] || undefined,
		};
	}

	/** Name in the protocol. */
	get type(): 'linuxSeccomp' | 'macosSeatbelt' {
		return process.platform === 'darwin' ? 'macosSeatbelt' : 'linuxSeccomp';
	}

	/** True if the sandbox probably works, without a trial run. */
	get isLikelyAvailable(): boolean {
		return process.platform === 'linux' && isBubblewrapLikely();
	}

	/** Resolves a policy; undefined if it restricts nothing. `cwd` is used if the policy names none. */
	resolve(policy: SandboxPolicy, cwd?: string): SandboxPlan | undefined {
		return resolvePlan(policy, {cwd, host: this.#host});
	}

	/** Wraps a command to run it under a plan. Throws where no sandbox works. */
	wrap(resolved: SandboxPlan, command: SandboxedCommand): WrappedCommand {
		const plan = pinDirectories(hidePaths(resolved, this.#hiddenPaths, this.#host.locate));
		if (process.platform === 'darwin') return seatbeltCommand(plan, command);
		if (process.platform !== 'linux') throw unenforceableError(`there is no sandbox for ${process.platform}`);
		const {file, helpers} = requireBubblewrap();
		const argv = [file, ...bubblewrapArguments(plan, command, helpers)];
		requireFewArguments(argv, command);
		const descriptors = [seccompFilter(plan.network), bubblewrapVariables(command)];
		return {file, argv, descriptors, hasOwnSession: true};
	}
}
