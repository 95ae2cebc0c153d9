import {defaultProvider} from '../../../environments/config/default-provider.js';
import {type EnvironmentProvider, environmentIds, readSnapshot} from '../../../environments/environment-provider.js';
import type {RemoteTarget} from '../../../environments/remote/remote-target.js';
import {toSafeJson} from '../../../shared/safe-json.js';
import {isTransportTarget, schemeOf} from '../../../transports/node/registry.js';
import type {TargetDescription} from '../../../transports/node/transport-scheme.js';
import {EXIT} from '../../exit-codes.js';

export interface EnvListOptions {
	readonly json: boolean;
	/** Source of names; `environments.toml` and the variables by default. */
	readonly provider?: EnvironmentProvider | undefined;
}

interface Listed {
	readonly name: string;
	readonly isDefault: boolean;
	readonly where: TargetDescription;
}

/** Prints every environment that has a name. */
export async function listEnvironments({json, provider = defaultProvider()}: EnvListOptions): Promise<number> {
	const listed = await readListed(provider);
	process.stdout.write(json ? toJson(listed) : toTable(listed));
	return EXIT.ok;
}

async function readListed(provider: EnvironmentProvider): Promise<Listed[]> {
	const snapshot = await readSnapshot(provider);
	return environmentIds(snapshot).map(name => ({
		name,
		isDefault: name === snapshot.defaultId,
		where: describeTarget(snapshot.remotes.get(name)),
	}));
}

/** How an environment is reached, without its secrets; this machine is undefined. */
function describeTarget(target: RemoteTarget | undefined): TargetDescription {
	if (!target) return {members: {kind: 'local'}, text: 'this machine'};
	if (isTransportTarget(target)) return schemeOf(target).describe(target);
	return {members: {kind: 'other'}, text: 'elsewhere'};
}

function toJson(listed: readonly Listed[]): string {
	const rows = listed.map(({name, isDefault, where}) => ({name, default: isDefault, ...where.members}));
	return `${toSafeJson(rows, '\t')}\n`;
}

function toTable(listed: readonly Listed[]): string {
	if (listed.length === 0) return 'there are no environments\n';
	const width = Math.max(...listed.map(({name}) => name.length));
	return listed
		.map(({name, isDefault, where}) => `${isDefault ? '*' : ' '} ${name.padEnd(width)}  ${where.text}\n`)
		.join('');
}
