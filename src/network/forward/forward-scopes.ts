// Apart from forward-policy.ts, so that reading the settings does not load the network modules of Node.

/** Allowed targets of forwarded connections. */
export const FORWARD_SCOPES = ['none', 'loopback', 'any'] as const;
/** Targets that clients may be forwarded to. */
export type ForwardScope = (typeof FORWARD_SCOPES)[number];
