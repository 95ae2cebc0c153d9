import {resolve} from 'node:path';
import {openEnvironment} from '../../common/environments.js';
import {writeJson, writeLines} from '../../common/messages.js';
import {type ProcessPlace, withEnvironment} from '../../common/processes/open-process.js';
import {EXIT} from '../../exit-codes.js';

export interface UpgradeCommandOptions extends ProcessPlace {
	/** Program of the new version; the present one's own path by default. */
	readonly to: string | undefined;
	readonly json: boolean;
}

/** Replaces a server by another version, and says which one answers then. */
export async function upgrade({to, json, ...place}: UpgradeCommandOptions): Promise<number> {
	const environment = await openEnvironment(place.environment, place);
	return withEnvironment(environment, async () => {
		const {info} = await environment.upgrade(to === undefined ? undefined : resolve(to));
		const version = info?.executorVersion ?? null;
		if (json) writeJson({version});
		else writeLines([`upgraded: version ${version ?? 'unknown'}`]);
		return EXIT.ok;
	});
}
