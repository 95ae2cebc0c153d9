import {BUBBLEWRAP_ENFORCER} from './detect-bubblewrap.js';
import type {Enforcer, EnforcerChoice} from './enforcer.js';
import {LANDLOCK_ENFORCER} from './native/landlock-enforcer.js';
import {NAMESPACES_ENFORCER} from './native/namespaces-enforcer.js';
import {unenforceableError} from './plan.js';

const ENFORCERS: readonly Enforcer[] = [BUBBLEWRAP_ENFORCER, NAMESPACES_ENFORCER, LANDLOCK_ENFORCER];
const HINT = 'install bubblewrap 0.8 or later and allow user namespaces';

/** Enforcers that may be used, best first. */
export function listEnforcers(choice: EnforcerChoice): readonly Enforcer[] {
	return choice === 'auto' ? ENFORCERS : ENFORCERS.filter(({name}) => name === choice);
}

/** The first enforcer that works on this machine, which is tried out on first use. Throws if none does. */
export function requireEnforcer(choice: EnforcerChoice): Enforcer {
	const problems: string[] = [];
	for (const enforcer of listEnforcers(choice)) {
		const problem = enforcer.findProblem();
		if (problem === undefined) return enforcer;
		problems.push(problem);
	}
	throw unenforceableError(`${problems.join('; ')} (${HINT})`);
}
