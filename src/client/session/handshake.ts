import * as v from 'valibot';
import {environmentInfo} from '../../protocol/methods/environment-methods.js';

/** What servers of all times answer to `initialize`. */
export const serverHandshake = v.object({
	sessionId: v.optional(v.string()),
	protocolVersion: v.optional(v.string()),
	environmentInfo: v.optional(environmentInfo),
});

/**
 * What a server understands: `v1` takes plain paths and knows no `environment/info`, `interim` has no sessions either,
 * `v0` has methods of its own for processes and nothing else.
 */
export type Dialect = 'current' | 'v1' | 'interim' | 'v0';

/** Undecided when the server has to be asked for its description. */
export function dialectOf(hello: v.InferOutput<typeof serverHandshake>): Dialect | undefined {
	if (hello.environmentInfo) return 'current';
	if (hello.sessionId !== undefined) return undefined;
	return hello.protocolVersion === undefined ? 'interim' : 'v0';
}
