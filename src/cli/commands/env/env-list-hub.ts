import * as v from 'valibot';
import {TOKEN_VARIABLE, trustOf} from '../../../environments/config/config-variables.js';
import {formatDuration} from '../../../shared/units.js';
import {parseRegistryUrl} from '../../../transports/node/relay/registry-client.js';
import {jsonError} from '../../../transports/node/relay/registry-errors.js';
import {askRegistry} from '../../../transports/node/relay/registry-request.js';
import {givenTrust} from '../../common/given-trust.js';
import {writeJson, writeLines} from '../../common/messages.js';
import {EXIT, usageError} from '../../exit-codes.js';
import {readToken} from './env-edit.js';

const TIMEOUT_MS = 10_000;
/** Enough for tens of thousands of environments. */
const MAX_LIST_BYTES = 16 * 1024 * 1024;
const SECOND_MS = 1000;

const listSchema = v.object({
	environments: v.array(
		v.object({
			id: v.string(),
			isOnline: v.boolean(),
			key: v.string(),
			streams: v.number(),
			onlineForMs: v.nullable(v.number()),
		}),
	),
});
type HubEnvironment = v.InferOutput<typeof listSchema>['environments'][number];

export interface HubListOptions {
	readonly hub: string;
	readonly tokenFile: string | undefined;
	readonly json: boolean;
}

/** Prints the environments of a hub that the token is good for. */
export async function listEnvironmentsOfHub({hub, tokenFile, json}: HubListOptions): Promise<number> {
	const url = parseRegistryUrl(hub);
	url.pathname = `${url.pathname.replace(/\/+$/, '')}/environments`;
	const token = tokenFile === undefined ? process.env[TOKEN_VARIABLE] : readToken(tokenFile);
	const {caFile, fingerprint} = url.protocol === 'https:' ? {...trustOf(process.env), ...givenTrust()} : givenTrust();
	if (url.protocol !== 'https:' && (caFile !== undefined || fingerprint !== undefined)) {
		throw usageError('--ca-file and --tls-fingerprint go with an https:// URL only');
	}
	const request = {method: 'GET', timeoutMs: TIMEOUT_MS, maxAnswerBytes: MAX_LIST_BYTES};
	const answer = await askRegistry(url, request, {token: () => token, tls: {caFile, fingerprint}});
	const {success, output} = v.safeParse(listSchema, answer);
	if (!success) throw jsonError('the answer is no list of environments');
	const environments = output.environments.toSorted((one, other) => (one.id < other.id ? -1 : 1));
	if (json) writeJson(environments, '\t');
	else writeLines(toLines(environments));
	return EXIT.ok;
}

function toLines(environments: readonly HubEnvironment[]): string[] {
	if (environments.length === 0) return ['there are no environments'];
	const width = Math.max(...environments.map(({id}) => id.length));
	return environments.map(environment => `${environment.id.padEnd(width)}  ${describe(environment)}`);
}

function describe({isOnline, key, streams, onlineForMs}: HubEnvironment): string {
	if (!isOnline) return `offline  ${key}`;
	const since = formatDuration(Math.floor((onlineForMs ?? 0) / SECOND_MS) * SECOND_MS);
	return `online   ${key}  for ${since}, ${streams} ${streams === 1 ? 'client' : 'clients'}`;
}
