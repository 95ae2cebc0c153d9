// Linux only.
import {CallList} from './call-list.js';
import {addVersionCalls, MIN_LANDLOCK_VERSION} from './landlock-calls.js';
import {runLauncher} from './trial-run.js';

/** Exit codes above it are errors: the kernel has no Landlock, or it was not switched on. */
const MAX_VERSION = 100;

let known: number | string | undefined;

/** The version of Landlock, or the reason why it cannot be used. */
export function findLandlockVersion(): number | string {
	known ??= readLandlockVersion();
	return known;
}

/** The version of a Landlock that can be used; undefined if there is none. */
export function usableLandlockVersion(): number | undefined {
	const version = findLandlockVersion();
	return typeof version === 'number' ? version : undefined;
}

function readLandlockVersion(): number | string {
	const calls = new CallList();
	addVersionCalls(calls);
	const outcome = runLauncher(calls.toProgram());
	if (typeof outcome === 'string') return outcome;
	if (outcome.code === 0 || outcome.code > MAX_VERSION) return 'the kernel has no Landlock, or it is switched off';
	if (outcome.code >= MIN_LANDLOCK_VERSION) return outcome.code;
	return `version ${outcome.code} of Landlock is too old: Linux 6.2 or later is needed`;
}
