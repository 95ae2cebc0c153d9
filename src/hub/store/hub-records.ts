import * as v from 'valibot';

const relayKey = v.object({
	suite: v.string(),
	x25519_public_key: v.string(),
	mlkem768_public_key: v.string(),
});

/** Tenant of tokens that name none. */
export const DEFAULT_TENANT = 'default';
/** Names of tenants: they are part of keys and subjects. */
export const TENANT_NAME = /^[a-z0-9][a-z0-9-]{0,31}$/;

/** An environment of one tenant; two tenants may use the same id for different machines. */
export interface EnvironmentPlace {
	readonly tenant: string;
	readonly environmentId: string;
}

/** Text that tells the environments of all tenants apart. */
export function keyOfPlace({tenant, environmentId}: EnvironmentPlace): string {
	return `${tenant}.${environmentId}`;
}

/** An executor of an environment, as it registered. */
export const registrationRecord = v.object({
	tenant: v.optional(v.string(), DEFAULT_TENANT),
	environmentId: v.string(),
	registrationId: v.string(),
	key: relayKey,
	/** Fingerprints of executors that this one took the place of, oldest first. */
	displaced: v.array(v.string()),
	labels: v.optional(v.record(v.string(), v.string())),
	/** Id of the token it was registered with; absent in records of earlier versions. */
	tokenId: v.optional(v.string()),
	/** Pools it is a member of. */
	pools: v.optional(v.array(v.string())),
	/** Streams it wants to serve at once; unlimited by default. */
	slots: v.optional(v.number()),
});
export type RegistrationRecord = v.InferOutput<typeof registrationRecord>;

export const TOKEN_KINDS = ['executor', 'client'] as const;
export type HubTokenKind = (typeof TOKEN_KINDS)[number];

/** A token without its secret. */
export const tokenRecord = v.object({
	id: v.string(),
	tenant: v.optional(v.string(), DEFAULT_TENANT),
	kind: v.picklist(TOKEN_KINDS),
	/** Environments it is good for; `*` stands for any characters. */
	pattern: v.string(),
	/** SHA-256 of the token, in hexadecimal. */
	digest: v.string(),
	/** Milliseconds since the epoch. */
	createdAt: v.number(),
});
export type TokenRecord = v.InferOutput<typeof tokenRecord>;
