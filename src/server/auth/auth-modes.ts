/** The kinds of tokens there are: those that are good for whoever has them, and those that say how long and for whom. */
export const AUTH_MODES = ['capability-token', 'signed-bearer-token'] as const;
export type AuthMode = (typeof AUTH_MODES)[number];

/** How far the clock of whoever signs tokens may be off. */
export const DEFAULT_CLOCK_SKEW_SECONDS = 30;
