import type {EnvironmentLabels} from '../shared/labels.js';
import type {RemoteTarget} from './remote/remote-target.js';

/** Name of this machine among environments. */
export const LOCAL = 'local';

/** The environments of one moment: how each is reached, and which is the default. */
export interface EnvironmentSnapshot {
	/** Undefined when there shall be none. */
	readonly defaultId: string | undefined;
	/** Whether this machine is one of them, as `local`. */
	readonly includesLocal: boolean;
	/** In the order in which they are listed. */
	readonly remotes: ReadonlyMap<string, RemoteTarget>;
	/** Labels by name, for those that have some. */
	readonly labels?: ReadonlyMap<string, EnvironmentLabels> | undefined;
}

/** A source of named environments: a file, variables, a registry of machines. */
export interface EnvironmentProvider {
	/** Connects to none of them. Undefined when the source is not in use, so that the next one counts. */
	snapshot(): Promise<EnvironmentSnapshot | undefined>;
}

/** The first provider that is in use counts, alone. */
export function combineProviders(...providers: readonly EnvironmentProvider[]): EnvironmentProvider {
	return {
		async snapshot() {
			for (const provider of providers) {
				const snapshot = await provider.snapshot();
				if (snapshot) return snapshot;
			}
			return undefined;
		},
	};
}

/** The environments of a provider; this machine alone when it is not in use. */
export async function readSnapshot(provider: EnvironmentProvider): Promise<EnvironmentSnapshot> {
	return (await provider.snapshot()) ?? {defaultId: LOCAL, includesLocal: true, remotes: new Map()};
}

/** Names of all environments, this machine first. */
export function environmentIds({includesLocal, remotes}: EnvironmentSnapshot): string[] {
	return [...(includesLocal ? [LOCAL] : []), ...remotes.keys()];
}
