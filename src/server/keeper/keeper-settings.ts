import * as v from 'valibot';
import type {ChildLimits} from '../../processes/backends/child-limits.js';
import {ENFORCER_CHOICES, type EnforcerChoice} from '../../sandbox/enforcer.js';
import {PROTECTED_VARIABLES} from '../../shared/protected-variables.js';
import type {ServerSettings} from '../options.js';

const limit = v.optional(v.number());

/** Everything a keeper has to know, as one line of JSON on its standard input: arguments and variables others can read. */
export const keeperSettings = v.object({
	stateDirectory: v.string(),
	generation: v.string(),
	/** Control group of the server, which the keeper leaves. */
	groupPath: v.optional(v.string()),
	childLimits: v.object({
		memoryBytes: limit,
		processes: limit,
		openFiles: limit,
		fileBytes: limit,
		cpuSeconds: limit,
		nice: limit,
		oomScore: limit,
	}),
	hiddenPaths: v.array(v.string()),
	sandboxEnforcer: v.picklist(ENFORCER_CHOICES),
	/** The server's own, from which environment policies inherit. */
	variables: v.record(v.string(), v.string()),
});

export interface KeeperSettings {
	readonly stateDirectory: string;
	readonly generation: string;
	readonly groupPath?: string | undefined;
	readonly childLimits: ChildLimits;
	readonly hiddenPaths: readonly string[];
	readonly sandboxEnforcer: EnforcerChoice;
	readonly variables: Readonly<Record<string, string>>;
}

export function encodeKeeperSettings(
	{childLimits, hiddenPaths, sandboxEnforcer, variables, stateDirectory}: ServerSettings,
	place: Pick<KeeperSettings, 'stateDirectory' | 'generation' | 'groupPath'>,
): string {
	const {group: _, ...limits} = childLimits;
	const settings: KeeperSettings = {
		...place,
		childLimits: limits,
		// The directory of the keeper may be a part of the one that all servers share.
		hiddenPaths: [...hiddenPaths, ...(stateDirectory === undefined ? [] : [stateDirectory])],
		sandboxEnforcer,
		variables: withoutProtected(variables),
	};
	return `${JSON.stringify(settings)}\n`;
}

function withoutProtected(variables: ServerSettings['variables']): Record<string, string> {
	const entries = Object.entries(variables).flatMap(([name, value]): [string, string][] =>
		value === undefined || PROTECTED_VARIABLES.has(name.toUpperCase()) ? [] : [[name, value]],
	);
	return Object.fromEntries(entries);
}
