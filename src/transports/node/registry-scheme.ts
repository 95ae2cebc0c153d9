import {isMeantAsPool, parsePoolSelector} from '../../protocol/relay/pool-selector.js';
import {LongarmError} from '../../shared/errors.js';
import type {TlsOptions} from './tls-trust.js';
import type {TransportScheme} from './transport-scheme.js';

const PREFIX = 'registry+';
const PREFIXES = [`${PREFIX}https://`, `${PREFIX}http://`] as const;
/** The id ends at a colon, but for the one of `pool:`, or with the text: whatever else is behind it is a path. */
const ID_AND_PATH = /^(registry\+https?:\/\/(?:\[[^\]]*\]|[^:/[\]]+)(?::\d+)?(?:\/(?:[^:]|(?<=\/pool):)+)?):(.*)$/s;
/** Last part of the path of a hub's URL. */
const LAST_SEGMENT = /^(.*)\/([^/]+)\/?$/;
const ENVIRONMENT = /^[A-Za-z0-9_-]{1,64}$/;
const FORM = 'registry+https://HUB/ID, /pool:NAME or /@KEY=VALUE';

/** Pin that takes any key of an executor. */
export const ANY_KEY = 'any';
const KEY_FINGERPRINT = /^sha256:[0-9a-f]{64}$/;

/** An executor behind a hub. */
export interface RegistryTarget {
	readonly kind: 'registry';
	/** `registry+https://HUB/ID`; with a selector such as `pool:gpu` for an id the hub chooses the executor. */
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
	/** How long to wait for an executor of a selector while none has room or none is there; 3 seconds by default. */
	readonly poolWaitMs?: number | undefined;
}

/** Hub and environment of an address. */
export interface RegistryAddress {
	readonly registry: string;
	/** A selector where the hub chooses. */
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
	isOpenToOtherUsers: () => false,
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
	const [, path, segment] = LAST_SEGMENT.exec(url?.pathname ?? '') ?? [];
	const environmentId = segment === undefined ? undefined : readSegment(segment);
	if (!url || environmentId === undefined || url.search !== '' || url.username !== '') {
		const message = `environment url \`${address}\` is invalid: expected ${FORM}`;
		throw new LongarmError('ENVIRONMENT_INVALID', {message});
	}
	return {registry: `${url.origin}${path}`, environmentId};
}

/** Throws for a text that is no id of an environment at a hub. */
export function requireEnvironmentOfHub(id: string): void {
	if (ENVIRONMENT.test(id)) return;
	const message = `\`${id}\` is no machine of a hub; ids have up to 64 letters, digits, _ and -`;
	throw new LongarmError('ENVIRONMENT_INVALID', {message});
}

/** The address of an executor, or of those of a selector, at a hub. */
export function registryAddress(registry: string, environmentId: string): string {
	return `${PREFIX}${registry}/${isMeantAsPool(environmentId) ? encodeSelector(environmentId) : environmentId}`;
}

/** Whether the hub chooses the executor. */
export function isPoolTarget({url}: RegistryTarget): boolean {
	return isMeantAsPool(parseRegistryAddress(url).environmentId);
}

/** Readable, but for a slash in a label. */
function encodeSelector(selector: string): string {
	return selector.replaceAll('/', '%2F');
}

/** An id or a selector; undefined for any other text. */
function readSegment(segment: string): string | undefined {
	if (ENVIRONMENT.test(segment)) return segment;
	const text = segment.replaceAll(/%2f/gi, '/');
	return parsePoolSelector(text) ? text : undefined;
}
