import {loadEnvironments} from '../../../environments/config/load-environments.js';
import type {RemoteTarget} from '../../../environments/remote/remote-target.js';
import {schemeOf} from '../../../transports/node/registry.js';
import type {TargetDescription} from '../../../transports/node/transport-scheme.js';
import {LOCAL} from '../../common/environments.js';

interface Listed {
	readonly name: string;
	readonly isDefault: boolean;
	readonly where: TargetDescription;
}

/** Prints every environment that has a name. */
export async function listEnvironments({json}: {json: boolean}): Promise<number> {
	const listed = await known();
	process.stdout.write(json ? toJson(listed) : toTable(listed));
	return 0;
}

async function known(): Promise<Listed[]> {
	const {defaultId, includesLocal, remotes} = await loadEnvironments();
	const local = includesLocal ? [[LOCAL, undefined] as const] : [];
	return [...local, ...remotes].map(([name, target]) => ({
		name,
		isDefault: name === defaultId,
		where: describeTarget(target),
	}));
}

/** How an environment is reached, without its secrets; this machine is undefined. */
function describeTarget(target: RemoteTarget | undefined): TargetDescription {
	if (!target) return {members: {kind: 'local'}, text: 'this machine'};
	switch (target.kind) {
		case 'transport':
		case 'provisioned':
			return {members: {kind: 'other'}, text: 'elsewhere'};
		default:
			return schemeOf(target).describe(target);
	}
}

function toJson(listed: readonly Listed[]): string {
	const rows = listed.map(({name, isDefault, where}) => ({name, default: isDefault, ...where.members}));
	return `${JSON.stringify(rows, undefined, '\t')}\n`;
}

function toTable(listed: readonly Listed[]): string {
	if (listed.length === 0) return 'there are no environments\n';
	const width = Math.max(...listed.map(({name}) => name.length));
	return listed
		.map(({name, isDefault, where}) => `${isDefault ? '*' : ' '} ${name.padEnd(width)}  ${where.text}\n`)
		.join('');
}
