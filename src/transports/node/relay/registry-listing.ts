import * as v from 'valibot';
import {parseRegistryUrl} from './registry-client.js';
import {jsonError} from './registry-errors.js';
import {askRegistry, type RegistryAccess} from './registry-request.js';
import {retryUnreached} from './unreached.js';

const LIST_TIMEOUT_MS = 10_000;
/** Enough for tens of thousands of environments. */
const MAX_LIST_BYTES = 16 * 1024 * 1024;

const listSchema = v.object({
	environments: v.array(
		v.object({
			id: v.string(),
			/** Left out for the default one. */
			tenant: v.optional(v.string()),
			isOnline: v.boolean(),
			key: v.string(),
			streams: v.number(),
			onlineForMs: v.nullable(v.number()),
			pools: v.optional(v.array(v.string()), []),
			labels: v.optional(v.record(v.string(), v.string()), {}),
			slots: v.optional(v.nullable(v.number()), null),
			used: v.optional(v.nullable(v.number()), null),
			state: v.optional(v.nullable(v.string()), null),
		}),
	),
});

/** An environment of a hub, as its list tells. */
export type RegistryEnvironment = v.InferOutput<typeof listSchema>['environments'][number];

/** The environments of a hub that the token is good for, and the selector means, by id. */
export async function listRegistry(
	hub: string,
	access: RegistryAccess,
	selector?: string,
): Promise<readonly RegistryEnvironment[]> {
	const url = parseRegistryUrl(hub);
	url.pathname = `${url.pathname.replace(/\/+$/, '')}/environments`;
	if (selector !== undefined) url.searchParams.set('select', selector);
	const request = {method: 'GET', timeoutMs: LIST_TIMEOUT_MS, maxAnswerBytes: MAX_LIST_BYTES};
	const answer = await retryUnreached(() => askRegistry(url, request, access), {limitMs: LIST_TIMEOUT_MS});
	const {success, output} = v.safeParse(listSchema, answer);
	if (!success) throw jsonError('the answer is no list of environments');
	return output.environments.toSorted((one, other) => (one.id < other.id ? -1 : 1));
}
