import * as v from 'valibot';
import type {ControlRoute} from './control-socket.js';
import type {ListedEnvironment} from './environment-routes.js';
import type {HubStatus} from './hub-status-record.js';
import {DEFAULT_TENANT, TOKEN_KINDS} from './store/hub-records.js';
import type {TokenStore} from './store/hub-store.js';

/** Longest time a drain may be given. */
export const MAX_DRAIN_MS = 24 * 60 * 60_000;

const drainParameters = v.object({timeoutMs: v.pipe(v.number(), v.minValue(0), v.maxValue(MAX_DRAIN_MS))});
const tokenParameters = v.object({
	kind: v.picklist(TOKEN_KINDS),
	pattern: v.string(),
	tenant: v.optional(v.string(), DEFAULT_TENANT),
});
const revokeParameters = v.object({id: v.string()});

export interface HubControlOptions {
	readonly list: () => Promise<readonly ListedEnvironment[]>;
	readonly metrics: () => string;
	readonly status: () => HubStatus;
	/** Begins a drain; does not wait for it. */
	readonly drain: (timeoutMs: number) => void;
	readonly tokens: TokenStore;
}

/** Requests of the hub's owner, over its control socket. */
export function hubControlRoutes(options: HubControlOptions): Readonly<Record<string, ControlRoute>> {
	const {list, metrics, status, drain, tokens} = options;
	return {
		'GET /environments': async () => ({environments: await list()}),
		'GET /metrics': async () => metrics(),
		'GET /status': async () => status(),
		'POST /drain': async parameters => {
			drain(v.parse(drainParameters, parameters).timeoutMs);
			return {};
		},
		'GET /tokens': async () => ({tokens: await tokens.list()}),
		'POST /tokens': async parameters => {
			const {kind, pattern, tenant} = v.parse(tokenParameters, parameters);
			return tokens.create(kind, pattern, tenant);
		},
		'POST /tokens/revoke': async parameters => ({
			isRevoked: await tokens.revoke(v.parse(revokeParameters, parameters).id),
		}),
	};
}
