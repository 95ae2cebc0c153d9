import type {ListedEnvironment} from '../../../hub/environment-routes.js';
import {matchesPool} from '../../../protocol/relay/pool-selector.js';
import {toSafeJson} from '../../../shared/safe-json.js';
import {formatHubEnvironments, requirePoolSelector} from '../../common/hub-environments.js';
import {toLine} from '../../common/messages.js';
import {writeOut} from '../../common/stdout.js';
import {EXIT} from '../../exit-codes.js';
import {askHub} from './ask-hub.js';
import {type HubDirectoryOptions, ownHubDirectory} from './hub-directory.js';

interface HubListOptions extends HubDirectoryOptions {
	/** Selector of those to list. */
	readonly select: string | undefined;
}

/** Asks the hub that runs on this machine. */
export async function listHubEnvironments({data, json, select}: HubListOptions): Promise<number> {
	const selector = select === undefined ? undefined : requirePoolSelector(select);
	const {environments: all} = await askHub<{readonly environments: readonly ListedEnvironment[]}>(
		ownHubDirectory(data),
		{
			method: 'GET',
			path: '/environments',
		},
	);
	const environments = selector ? all.filter(environment => matchesPool(selector, environment)) : all;
	if (json) await writeOut(`${toSafeJson(environments)}\n`);
	else for (const line of formatHubEnvironments(environments)) await writeOut(`${toLine(line)}\n`);
	return EXIT.ok;
}
