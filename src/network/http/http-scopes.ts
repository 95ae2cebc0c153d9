// Apart from http-policy.ts, so that reading the settings does not load the network modules of Node.

/** Allowed targets of HTTP requests; `public` leaves out everything that only this machine or its network reaches. */
export const HTTP_SCOPES = ['none', 'public', 'any'] as const;
export type HttpScope = (typeof HTTP_SCOPES)[number];
