import {TOKEN_VARIABLE, trustOf} from '../../../environments/config/config-variables.js';
import {defaultProvider} from '../../../environments/config/default-provider.js';
import {readSnapshot} from '../../../environments/environment-provider.js';
import {unknownEnvironment} from '../../../environments/many/selector.js';
import {withTrust} from '../../../environments/remote/remote-trust.js';
import {parseRegistryAddress} from '../../../transports/node/registry-scheme.js';
import {parseRegistryUrl} from '../../../transports/node/relay/registry-client.js';
import type {RegistryAccess} from '../../../transports/node/relay/registry-request.js';
import {givenTrust} from '../../common/given-trust.js';
import {usageError} from '../../exit-codes.js';
import {readToken} from './env-edit.js';

/** A hub as it is given on a command line. */
export interface GivenHub {
	/** A URL, or the name of an environment behind the hub. */
	readonly hub: string;
	readonly tokenFile: string | undefined;
}

export interface FoundHub {
	readonly url: string;
	readonly access: RegistryAccess;
}

/** Address, token and trust of a hub: of a name those of the configuration. */
export async function findHub({hub, tokenFile}: GivenHub): Promise<FoundHub> {
	if (!hub.includes(':')) return findNamedHub(hub, tokenFile);
	const {protocol} = parseRegistryUrl(hub);
	const token = tokenFile === undefined ? process.env[TOKEN_VARIABLE] : readToken(tokenFile);
	const {caFile, fingerprint} = protocol === 'https:' ? {...trustOf(process.env), ...givenTrust()} : givenTrust();
	if (protocol !== 'https:' && (caFile !== undefined || fingerprint !== undefined)) {
		throw usageError('--ca-file and --tls-fingerprint go with an https:// URL only');
	}
	return {url: hub, access: {token: () => token, tls: {caFile, fingerprint}}};
}

/** The hub of an environment of the configuration. */
async function findNamedHub(name: string, tokenFile: string | undefined): Promise<FoundHub> {
	const {remotes} = await readSnapshot(defaultProvider());
	const target = remotes.get(name);
	if (!target) throw unknownEnvironment(name, [...remotes.keys()]);
	if (target.kind !== 'registry') throw usageError(`--hub ${name}: this environment is not reached through a hub`);
	const token = tokenFile === undefined ? target.token : readToken(tokenFile);
	const {tls} = withTrust(target, givenTrust(), `--hub ${name}`);
	return {url: parseRegistryAddress(target.url).registry, access: {token: () => token, tls}};
}
