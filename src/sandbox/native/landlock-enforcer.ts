// Linux only.
import {type Enforcer, Trial} from '../enforcer.js';
import {
	accessAt,
	allowsAllFiles,
	type SandboxedCommand,
	type SandboxPlan,
	unenforceableError,
	type WrappedCommand,
} from '../plan.js';
import {CallList} from './call-list.js';
import {
	addCloseCalls,
	addCloseInheritedCalls,
	addCommandCalls,
	addDirectoryCalls,
	requireDirectory,
} from './command-calls.js';
import {addLandlockCalls, SCOPE_VERSION} from './landlock-calls.js';
import {createLandlockFilter} from './landlock-filter.js';
import {resolveGrants} from './landlock-grants.js';
import {findLandlockVersion} from './landlock-version.js';
import {hasLauncher} from './launcher-program.js';
import {addFilterCalls, addUnprivilegedCalls} from './privilege-calls.js';
import {addChildCalls, addLifelineCalls, addReleaseCalls, addStartCalls, addWaitCalls} from './process-calls.js';
import {SIGCHLD} from './system-calls.js';
import {LAUNCHER_FILE, TRIAL_COMMAND, TRIAL_PLAN, tryLauncher} from './trial-run.js';

const PR_SET_CHILD_SUBREAPER = 36;

const trial = new Trial(() => {
	if (!hasLauncher()) return `there is no launcher for ${process.arch}`;
	const version = findLandlockVersion();
	if (typeof version === 'string') return version;
	return tryLauncher(() => createLandlockProgram(TRIAL_PLAN, TRIAL_COMMAND, version));
});

/** Restricts the command on the files of the host itself: no namespace is needed, and many policies are refused. */
export const LANDLOCK_ENFORCER: Enforcer = {
	name: 'landlock',
	describe: () => `version ${findLandlockVersion()}, by a launcher of its own`,
	isLikely: () => hasLauncher() && trial.findProblem() === undefined,
	findProblem: () => trial.findProblem(),
	wrap: wrapInLandlock,
};

function wrapInLandlock(plan: SandboxPlan, command: SandboxedCommand): WrappedCommand {
	const version = findLandlockVersion() as number;
	return {
		file: LAUNCHER_FILE,
		argv: ['longarm-sandbox'],
		descriptors: [createLandlockProgram(plan, command, version)],
		isInMemory: true,
		hasOwnSession: true,
	};
}

/**
 * Program that runs a command under a plan. The command is a child of a process that stays outside of the restrictions, takes
 * in whatever the command leaves running, and ends that before itself: nothing of a sandbox outlives it unseen.
 */
function createLandlockProgram(plan: SandboxPlan, command: SandboxedCommand, version: number): Uint8Array {
	const cwd = requireDirectory(command);
	if (plan.network === 'host' && version < SCOPE_VERSION) {
		throw unenforceableError(
			'with a network, Landlock of Linux 6.12 or later is needed: the command could end its wrapper',
		);
	}
	const isRestricted = !allowsAllFiles(plan);
	const calls = new CallList();
	const child = calls.cell();
	const [waiting, collecting] = [calls.target(), calls.target()];
	addStartCalls(calls);
	calls.require('take in orphans', 'prctl', [PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0]);
	addCloseCalls(calls, command);
	const lifeline = addLifelineCalls(calls);
	calls.require('start the command', 'clone', [SIGCHLD, 0, 0, 0, 0], {result: child, jump: waiting});

	addChildCalls(calls, lifeline);
	addUnprivilegedCalls(calls);
	addDirectoryCalls(calls, cwd);
	addLandlockCalls(calls, {
		version,
		grants: resolveGrants(plan),
		deniesNetwork: plan.network === 'none',
		confinesSignals: true,
	});
	const protectsNames = accessAt(plan, '/') === 'none';
	addFilterCalls(calls, createLandlockFilter({network: plan.network, protectsAttributes: isRestricted, protectsNames}));
	addCloseCalls(calls, command);
	addCommandCalls(calls, command);

	calls.place(waiting);
	addReleaseCalls(calls, lifeline);
	addCloseInheritedCalls(calls, command);
	const exitCode = addWaitCalls(calls, child);
	calls.endChildren();
	calls.place(collecting);
	calls.attempt('wait4', [-1, 0, 0, 0], {jump: collecting});
	calls.attempt('exit_group', [exitCode]);
	return calls.toProgram();
}
