import {TOKEN_VARIABLE, trustOf} from '../../../environments/config/config-variables.js';
import {defaultProvider} from '../../../environments/config/default-provider.js';
import {readSnapshot} from '../../../environments/environment-provider.js';
import {unknownEnvironment} from '../../../environments/many/selector.js';
import {parseRegistryAddress} from '../../../transports/node/registry-scheme.js';
import {parseRegistryUrl} from '../../../transports/node/relay/registry-client.js';
import {listRegistry, type RegistryEnvironment} from '../../../transports/node/relay/registry-listing.js';
import type {RegistryAccess} from '../../../transports/node/relay/registry-request.js';
import {givenTrust} from '../../common/given-trust.js';
import {formatHubEnvironments, requirePoolSelector} from '../../common/hub-environments.js';
import {writeJson, writeLines} from '../../common/messages.js';
import {EXIT, usageError} from '../../exit-codes.js';
import {readToken} from './env-edit.js';

export interface HubListOptions {
	/** A URL, or the name of an environment behind the hub. */
	readonly hub: string;
	readonly tokenFile: string | undefined;
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

async function findHub({hub, tokenFile}: HubListOptions): Promise<{url: string; access: RegistryAccess}> {
	if (!hub.includes(':')) return findNamedHub(hub, tokenFile);
	const {protocol} = parseRegistryUrl(hub);
	const token = tokenFile === undefined ? process.env[TOKEN_VARIABLE] : readToken(tokenFile);
	const {caFile, fingerprint} = protocol === 'https:' ? {...trustOf(process.env), ...givenTrust()} : givenTrust();
	if (protocol !== 'https:' && (caFile !== undefined || fingerprint !== undefined)) {
		throw usageError('--ca-file and --tls-fingerprint go with an https:// URL only');
	}
	return {url: hub, access: {token: () => token, tls: {caFile, fingerprint}}};
}

/** The hub of an environment of the configuration, with its token and trust. */
async function findNamedHub(
	name: string,
	tokenFile: string | undefined,
): Promise<{url: string; access: RegistryAccess}> {
	const {remotes} = await readSnapshot(defaultProvider());
	const target = remotes.get(name);
	if (!target) throw unknownEnvironment(name, [...remotes.keys()]);
	if (target.kind !== 'registry') throw usageError(`--hub ${name}: this environment is not reached through a hub`);
	const token = tokenFile === undefined ? target.token : readToken(tokenFile);
	return {url: parseRegistryAddress(target.url).registry, access: {token: () => token, tls: target.tls}};
}
