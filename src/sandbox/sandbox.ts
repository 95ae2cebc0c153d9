import {bubblewrapArguments} from './bubblewrap.js';
import {bubblewrap, seemsUsable} from './detect-bubblewrap.js';
import {globMatches} from './globs.js';
import {type Host, locate} from './host.js';
import type {SandboxPlan} from './plan.js';
import type {SandboxPolicy} from './policy.js';
import {unenforceable} from './refusals.js';
import {resolvePlan} from './resolve-plan.js';
import type {SandboxedCommand, WrappedCommand} from './sandboxed-command.js';
import {seatbeltCommand} from './seatbelt.js';
import {filterPath} from './seccomp-filter.js';

/** The sandbox this machine offers. Nothing is looked for before a policy asks for it. */
export class Sandbox {
	readonly #path: string | undefined;
	readonly #host: Host;

	/** `variables` are the server's own: where its programs and its temporary files are. */
	constructor(variables: Readonly<Record<string, string | undefined>>) {
		this.#path = variables['PATH'];
		this.#host = {locate, matches: globMatches, temporaryDirectory: variables['TMPDIR'] || undefined};
	}

	/** How the protocol calls it. */
	get type(): 'linuxSeccomp' | 'macosSeatbelt' {
		return process.platform === 'darwin' ? 'macosSeatbelt' : 'linuxSeccomp';
	}

	/** Whether it works, as far as is known without trying. */
	get isLikely(): boolean {
		return process.platform === 'linux' && seemsUsable(this.#path);
	}

	/** What a policy means here; undefined when it restricts nothing. `cwd` counts where the policy names none. */
	resolve(context: SandboxPolicy, cwd?: string): SandboxPlan | undefined {
		return resolvePlan(context, {cwd, host: this.#host});
	}

	/** The command that runs another under a plan. Throws where no sandbox works. */
	wrap(plan: SandboxPlan, command: SandboxedCommand): WrappedCommand {
		if (process.platform === 'darwin') return seatbeltCommand(plan, command);
		if (process.platform !== 'linux') throw unenforceable(`there is no sandbox for ${process.platform}`);
		const {file, helpers} = bubblewrap(this.#path);
		const argv = [file, ...bubblewrapArguments(plan, command, helpers)];
		return {file, argv, descriptors: [filterPath(plan.network)], ownSession: true};
	}
}
