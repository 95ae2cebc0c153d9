import {listRegistry, type RegistryEnvironment} from '../../../transports/node/relay/registry-listing.js';
import {formatHubEnvironments, requirePoolSelector} from '../../common/hub-environments.js';
import {writeJson, writeLines} from '../../common/messages.js';
import {EXIT} from '../../exit-codes.js';
import {findHub, type GivenHub} from './find-hub.js';

export interface HubListOptions extends GivenHub {
	readonly selector: string | undefined;
	readonly json: boolean;
}

/** Prints the environments of a hub that the token is good for. */
export async function listEnvironmentsOfHub(options: HubListOptions): Promise<number> {
	const {selector, json} = options;
	if (selector !== undefined) requirePoolSelector(selector);
	const {url, access} = await findHub(options);
	const environments: readonly RegistryEnvironment[] = await listRegistry(url, access, selector);
	if (json) writeJson(environments, '\t');
	else writeLines(formatHubEnvironments(environments));
	return EXIT.ok;
}
