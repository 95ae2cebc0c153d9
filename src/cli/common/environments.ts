import {mayHaveDefault} from '../../environments/config/default-choice.js';
import {Environment} from '../../environments/environment.js';
import type {EnvironmentProvider} from '../../environments/environment-provider.js';
import type {RemoteTarget} from '../../environments/remote/remote-target.js';
import {MAX_TIMER_MS} from '../../shared/units.js';
import type {PoolChoice} from './pool-choice.js';

export interface OpenOptions {
	/** Gets the standard error of a command that is the way to the machine. */
	readonly onStderr?: (text: string) => void;
	/** Source of names; `environments.toml` and the variables by default. */
	readonly provider?: EnvironmentProvider | undefined;
	/** Without the line that tells which environment is the default. */
	readonly quiet?: boolean | undefined;
	/** Set by commands for which a hub may choose the machine; others are about one machine, which has to be named. */
	readonly pools?: PoolChoice | undefined;
	/** Whether other clients of a process are told who this one is. */
	readonly isNamed?: boolean | undefined;
	/** A lost connection is tried again for as long as the program runs: somebody is there who may end it. */
	readonly isPatient?: boolean | undefined;
}

/**
 * The environment given with `-e`, else the default one, which a line on a terminal tells, else this machine. Connects
 * when it is first used.
 */
export async function openEnvironment(given?: string, options: OpenOptions = {}): Promise<Environment> {
	// Without the constant of another module, which would be one more part to load.
	if (given === 'local' || (given === undefined && !hasSource(options))) return Environment.local();
	// Loaded when it is needed: a command of this machine needs no configuration.
	const {resolveDefault, resolveNamed} = await import('./resolve-target.js');
	const found = given === undefined ? await resolveDefault(options) : await resolveNamed(given, options);
	return found ? openRemote(found.name, found.target, options) : Environment.local();
}

async function openRemote(name: string, target: RemoteTarget, options: OpenOptions): Promise<Environment> {
	const patient = options.isPatient ? {...target, recoveryBudgetMs: MAX_TIMER_MS} : target;
	if (!options.isNamed) return Environment.remote(name, patient);
	const {describeThisClient} = await import('../../environments/remote/this-client.js');
	return Environment.remote(name, {...patient, clientName: describeThisClient()});
}

function hasSource({provider}: OpenOptions): boolean {
	return provider !== undefined || mayHaveDefault(process.env);
}
