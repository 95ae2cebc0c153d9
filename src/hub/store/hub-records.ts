import * as v from 'valibot';

const relayKey = v.object({
	suite: v.string(),
	x25519_public_key: v.string(),
	mlkem768_public_key: v.string(),
});

/** An executor of an environment, as it registered. */
export const registrationRecord = v.object({
	environmentId: v.string(),
	registrationId: v.string(),
	key: relayKey,
	/** Fingerprints of executors that this one took the place of, oldest first. */
	displaced: v.array(v.string()),
});
export type RegistrationRecord = v.InferOutput<typeof registrationRecord>;

export const TOKEN_KINDS = ['executor', 'client'] as const;
export type HubTokenKind = (typeof TOKEN_KINDS)[number];

/** A token without its secret. */
export const tokenRecord = v.object({
	id: v.string(),
	kind: v.picklist(TOKEN_KINDS),
	/** Environments it is good for; `*` stands for any characters. */
	pattern: v.string(),
	/** SHA-256 of the token, in hexadecimal. */
	digest: v.string(),
	/** Milliseconds since the epoch. */
	createdAt: v.number(),
});
export type TokenRecord = v.InferOutput<typeof tokenRecord>;
