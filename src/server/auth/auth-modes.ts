// A file of its own because command-line parsing needs these at every start, and the token code is loaded later.

/** Kinds of bearer tokens: opaque secrets, and signed tokens (JWT) with an expiry and an audience. */
export const AUTH_MODES = ['capability-token', 'signed-bearer-token'] as const;
export type AuthMode = (typeof AUTH_MODES)[number];

/** Tolerated difference between the clocks of the token issuer and the server. */
export const DEFAULT_CLOCK_SKEW_SECONDS = 30;
