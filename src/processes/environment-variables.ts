import {PROTECTED_VARIABLES} from '../shared/protected-variables.js';
import {matchesWildcards} from '../shared/wildcards.js';

export type Variables = Readonly<Record<string, string>>;

export interface EnvironmentRules {
	readonly inherit: 'core' | 'all' | 'none';
	readonly ignoreDefaultExcludes: boolean;
	readonly exclude: readonly string[];
	readonly set: Variables;
	readonly includeOnly: readonly string[];
}

const CORE_POSIX = 'PATH SHELL TMPDIR TEMP TMP HOME LANG LC_ALL LC_CTYPE LOGNAME USER';
const CORE_WINDOWS =
	'PATH PATHEXT SHELL COMSPEC SYSTEMROOT WINDIR SYSTEMDRIVE USERNAME USERDOMAIN USERPROFILE HOMEDRIVE HOMEPATH ' +
	'PROGRAMFILES PROGRAMFILES(X86) PROGRAMW6432 PROGRAMDATA LOCALAPPDATA APPDATA TEMP TMP TMPDIR POWERSHELL PWSH';
const DEFAULT_EXCLUDES = ['*KEY*', '*SECRET*', '*TOKEN*'];
const DEFAULT_PATHEXT = '.COM;.EXE;.BAT;.CMD';

/**
 * The child's environment. Without a policy it is `env` and nothing else; with one, the policy is applied to the
 * server's own variables and `env` is laid on top, past all patterns.
 */
export function buildChildEnvironment(
	env: Variables,
	policy: EnvironmentRules | undefined,
	own: Readonly<Record<string, string | undefined>>,
	platform: NodeJS.Platform = process.platform,
): Map<string, string> {
	const result = policy ? applyPolicy(policy, own, platform) : new Map<string, string>();
	for (const [name, value] of Object.entries(env)) result.set(name, value);
	return removeVariables(result, name => PROTECTED_VARIABLES.has(name.toUpperCase()));
}

function applyPolicy(
	policy: EnvironmentRules,
	own: Readonly<Record<string, string | undefined>>,
	platform: NodeJS.Platform,
): Map<string, string> {
	let result = inheritVariables(policy.inherit, own, platform);
	if (!policy.ignoreDefaultExcludes) result = removeVariables(result, compilePatterns(DEFAULT_EXCLUDES));
	result = removeVariables(result, compilePatterns(policy.exclude));
	for (const [name, value] of Object.entries(policy.set)) result.set(name, value);
	if (policy.includeOnly.length > 0) {
		const included = compilePatterns(policy.includeOnly);
		result = removeVariables(result, name => !included(name));
	}
	if (platform === 'win32' && ![...result.keys()].some(name => name.toUpperCase() === 'PATHEXT')) {
		result.set('PATHEXT', DEFAULT_PATHEXT);
	}
	return result;
}

function inheritVariables(
	mode: EnvironmentRules['inherit'],
	own: Readonly<Record<string, string | undefined>>,
	platform: NodeJS.Platform,
): Map<string, string> {
	const result = new Map<string, string>();
	if (mode === 'none') return result;
	const core = new Set((platform === 'win32' ? CORE_WINDOWS : CORE_POSIX).split(' '));
	for (const [name, value] of Object.entries(own)) {
		if (value !== undefined && (mode === 'all' || core.has(name.toUpperCase()))) result.set(name, value);
	}
	return result;
}

function removeVariables(variables: Map<string, string>, drop: (name: string) => boolean): Map<string, string> {
	return new Map([...variables].filter(([name]) => !drop(name)));
}

/** Whole names, any case; `*` is any run, `?` one character, everything else itself. */
function compilePatterns(patterns: readonly string[]): (name: string) => boolean {
	const lowered = patterns.map(pattern => Array.from(pattern.toLowerCase()));
	return name => {
		const characters = Array.from(name.toLowerCase());
		return lowered.some(pattern => matchesWildcards(pattern, characters));
	};
}
