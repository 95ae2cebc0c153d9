// Linux only.
import {type Enforcer, Trial} from '../enforcer.js';
import type {SandboxedCommand, SandboxPlan, WrappedCommand} from '../plan.js';
import {areUserNamespacesForbidden} from '../user-namespaces.js';
import {usableLandlockVersion} from './landlock-version.js';
import {hasLauncher} from './launcher-program.js';
import {createNamespaceProgram} from './namespace-calls.js';
import {LAUNCHER_FILE, TRIAL_COMMAND, TRIAL_PLAN, tryLauncher} from './trial-run.js';

const trial = new Trial(() => {
	if (!hasLauncher()) return `there is no launcher for ${process.arch}`;
	return tryLauncher(() => createNamespaceProgram(TRIAL_PLAN, TRIAL_COMMAND, usableLandlockVersion()));
});

/** Makes the same namespaces and mounts as bubblewrap by a launcher of our own, with nothing installed. */
export const NAMESPACES_ENFORCER: Enforcer = {
	name: 'namespaces',
	describe: () => {
		const version = usableLandlockVersion();
		return version === undefined ? 'a launcher of its own' : `a launcher of its own and version ${version} of Landlock`;
	},
	isLikely: () => (trial.isDone ? trial.findProblem() === undefined : hasLauncher() && !areUserNamespacesForbidden()),
	findProblem: () => trial.findProblem(),
	wrap: wrapInNamespaces,
};

function wrapInNamespaces(plan: SandboxPlan, command: SandboxedCommand): WrappedCommand {
	return {
		file: LAUNCHER_FILE,
		argv: ['longarm-sandbox'],
		descriptors: [createNamespaceProgram(plan, command, usableLandlockVersion())],
		isInMemory: true,
		hasOwnSession: true,
	};
}
