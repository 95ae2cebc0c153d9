import {COMMAND} from './command-scheme.js';
import type {TransportScheme} from './transport-scheme.js';
import {WEB_SOCKET} from './web-socket-scheme.js';

/** Every transport that has an address. A new one is a file with its scheme, and a row here. */
const TRANSPORTS = [WEB_SOCKET, COMMAND] as const;

type Row = (typeof TRANSPORTS)[number];
/** How a server is reached. */
export type TransportTarget = Parameters<Row['connect']>[0];
/** Where a server listens. */
export type ListenAddress = NonNullable<ReturnType<Row['parseListenAddress']>>;
export type AnyTransportScheme = TransportScheme<TransportTarget, ListenAddress>;

/** Rows are looked up by the kind of a target or an address, which is what they take. */
const SCHEMES = TRANSPORTS as unknown as readonly AnyTransportScheme[];

/** Prefixes of server URLs. */
export const URL_PREFIXES: readonly string[] = SCHEMES.flatMap(({prefixes}) => prefixes.filter(isUrlPrefix));

/** The port ends at a colon, at a slash or with the text: whatever else is behind the host is a path. */
const HOST_AND_PATH = /^((?:\[[^\]]*\]|[^:/[\]]+)(?::\d+(?=[:/]|$))?(?:\/[^:]*)?)(?::(.*))?$/s;
/** Forms of listen addresses, for error texts. */
export const LISTEN_FORMS: readonly string[] = SCHEMES.map(({listenForm}) => listenForm);

/** The scheme an address of a server is written in; undefined for a name. */
export function findScheme(address: string): AnyTransportScheme | undefined {
	return SCHEMES.find(({prefixes}) => prefixes.some(prefix => address.startsWith(prefix)));
}

/** Whether a target has a scheme; one that is a function of the caller has none. */
export function isTransportTarget(target: {readonly kind: string}): target is TransportTarget {
	return SCHEMES.some(({kind}) => kind === target.kind);
}

/** The scheme of a target. */
export function schemeOf({kind}: TransportTarget): AnyTransportScheme {
	return SCHEMES.find(scheme => scheme.kind === kind)!;
}

/** The scheme a server listens with. */
export function listenSchemeOf({kind}: ListenAddress): AnyTransportScheme {
	return SCHEMES.find(scheme => scheme.listenKind === kind)!;
}

export function isServerUrl(text: string): boolean {
	return URL_PREFIXES.some(prefix => text.startsWith(prefix));
}

/** `ws://host:4500:/srv/site` is the URL `ws://host:4500` and the path `/srv/site`; undefined for a URL without a path. */
export function splitUrlAndPath(text: string): {readonly url: string; readonly path: string} | undefined {
	const prefix = URL_PREFIXES.find(each => text.startsWith(each));
	if (prefix === undefined) return undefined;
	const [, host, path] = HOST_AND_PATH.exec(text.slice(prefix.length)) ?? [];
	return host === undefined || path === undefined ? undefined : {url: prefix + host, path};
}

/** Undefined for an address that no transport listens on. */
export function parseListenAddress(text: string): ListenAddress | undefined {
	for (const scheme of SCHEMES) {
		const address = scheme.parseListenAddress(text);
		if (address) return address;
	}
	return undefined;
}

function isUrlPrefix(prefix: string): boolean {
	return prefix.endsWith('://');
}
