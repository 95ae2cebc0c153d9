/** Where connections may be forwarded to. */
export const FORWARD_SCOPES = ['none', 'loopback', 'any'] as const;
export type ForwardScope = (typeof FORWARD_SCOPES)[number];
