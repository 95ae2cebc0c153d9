import {describe} from 'vitest';
import {ENFORCER_NAMES, type EnforcerName} from '../../src/sandbox/enforcer.js';
import {needs, unless} from './needs.js';
import {noSandbox} from './sandboxes.js';

interface EnforcerOptions {
	/** Enforcers these tests are about; all by default. */
	readonly only?: readonly EnforcerName[];
	/** Programs they need. */
	readonly programs?: readonly string[];
}

/** Options of a test about something that Landlock alone cannot do, or refuses. */
export function notWithLandlock(enforcer: EnforcerName, reason: string): ReturnType<typeof unless> {
	return unless(enforcer === 'landlock' ? reason : undefined);
}

export const REFUSES_PROTECTION = 'Landlock refuses to protect or hide something below what it allows';

/** The same group of tests for each enforcer, skipped where that does not work. */
export function describeEnforcers(
	name: string,
	define: (enforcer: EnforcerName) => void,
	{only = ENFORCER_NAMES, programs = []}: EnforcerOptions = {},
): void {
	for (const enforcer of only) {
		const why = noSandbox(enforcer);
		const options = why === undefined ? needs(...programs) : unless(why);
		describe(`${name} (${enforcer})`, options, () => {
			define(enforcer);
		});
	}
}
