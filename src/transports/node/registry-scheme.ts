import {LongarmError} from '../../shared/errors.js';
import type {TlsOptions} from './tls-trust.js';
import type {TransportScheme} from './transport-scheme.js';

const PREFIX = 'registry+';
const PREFIXES = [`${PREFIX}https://`, `${PREFIX}http://`] as const;
/** The id ends at a colon or with the text: whatever else is behind it is a path. */
const ID_AND_PATH = /^(registry\+https?:\/\/(?:\[[^\]]*\]|[^:/[\]]+)(?::\d+)?(?:\/[^:]+)?):(.*)$/s;

/** Pin that takes any key of an executor. */
export const ANY_KEY = 'any';
const KEY_FINGERPRINT = /^sha256:[0-9a-f]{64}$/;

/** An executor behind a hub. */
export interface RegistryTarget {
	readonly kind: 'registry';
	/** `registry+https://HUB/ID`. */
	readonly url: string;
	/** Sent to the hub as a bearer token, shown nowhere. */
	readonly token?: string | undefined;
	readonly tls?: TlsOptions | undefined;
	/**
	 * `sha256:HEX` of the executor's key. By default the key of the first connection is remembered and any other refused; `any`
	 * takes whatever key the hub names, as a stock client does.
	 */
	readonly executorKey?: string | undefined;
	readonly accountId?: string | undefined;
}

/** Hub and environment of an address. */
export interface RegistryAddress {
	readonly registry: string;
	readonly environmentId: string;
}

/** `registry+https://` and `registry+http://`: executors that a hub knows by name. */
export const REGISTRY: TransportScheme<RegistryTarget, never> = {
	kind: 'registry',
	prefixes: PREFIXES,
	startsServer: false,

	parseTarget(url, {token}) {
		parseRegistryAddress(url);
		return {kind: 'registry', url, token};
	},

	splitPath(address) {
		const [, url, path] = ID_AND_PATH.exec(address) ?? [];
		return url === undefined || path === undefined ? undefined : {url, path};
	},

	describe({url, token}) {
		const hasToken = Boolean(token);
		return {members: {kind: 'registry', url, hasToken}, text: hasToken ? `${url} (with a token)` : url};
	},

	async connect(target, signal) {
		const {connectThroughHub} = await import('./relay/connect-through-hub.js');
		return connectThroughHub(target, signal);
	},

	listenKind: 'registry' as never,
	parseListenAddress: () => undefined,
	usesTls: () => false,
	isReadableByOthers: () => false,
	listen: () => Promise.reject(new Error('a server registers with a hub by --remote')),
};

/** `sha256:HEX` of an executor's key, or `any`; throws for anything else. */
export function requireExecutorKey(text: string): string {
	const pin = text.trim().toLowerCase();
	if (pin === ANY_KEY || KEY_FINGERPRINT.test(pin)) return pin;
	const message = `\`${text}\` is no key of an executor; expected sha256: and 64 hexadecimal digits, or ${ANY_KEY}`;
	throw new LongarmError('ENVIRONMENT_INVALID', {message});
}

/** Throws for an address that cannot be meant. */
export function parseRegistryAddress(address: string): RegistryAddress {
	const url = URL.canParse(address.slice(PREFIX.length)) ? new URL(address.slice(PREFIX.length)) : undefined;
	const [, path, environmentId] = /^(.*)\/([A-Za-z0-9_-]{1,64})\/?$/.exec(url?.pathname ?? '') ?? [];
	if (!url || environmentId === undefined || url.search !== '' || url.username !== '') {
		const message = `environment url \`${address}\` is invalid: expected registry+https://HUB/ID`;
		throw new LongarmError('ENVIRONMENT_INVALID', {message});
	}
	return {registry: `${url.origin}${path}`, environmentId};
}
