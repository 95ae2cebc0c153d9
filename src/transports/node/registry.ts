import {COMMAND} from './command-scheme.js';
import {REGISTRY} from './registry-scheme.js';
import type {AddressAndPath, TransportScheme} from './transport-scheme.js';
import {UNIX} from './unix-scheme.js';
import {WEB_SOCKET} from './web-socket-scheme.js';

/** Every transport that has an address. A new one is a file with its scheme, and a row here. */
const TRANSPORTS = [WEB_SOCKET, UNIX, COMMAND, REGISTRY] as const;

type Row = (typeof TRANSPORTS)[number];
/** How a server is reached. */
export type TransportTarget = Parameters<Row['connect']>[0];
/** Where a server listens. */
export type ListenAddress = NonNullable<ReturnType<Row['parseListenAddress']>>;
export type AnyTransportScheme = TransportScheme<TransportTarget, ListenAddress>;

/** Rows are looked up by the kind of a target or an address, which is what they take. */
const SCHEMES = TRANSPORTS as unknown as readonly AnyTransportScheme[];

/** Prefixes of server URLs with an authority, for error texts. */
export const URL_PREFIXES: readonly string[] = SCHEMES.flatMap(({prefixes}) => prefixes.filter(isUrlPrefix));

/** Forms of listen addresses that upstream knows, for its error text. */
export const LISTEN_FORMS: readonly string[] = SCHEMES.flatMap(({listenForm}) => listenForm ?? []);

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

/** Whether the text is an address that may stand in front of a path. */
export function isServerUrl(text: string): boolean {
	return findScheme(text)?.splitPath !== undefined;
}

/** `ws://host:4500:/srv/site` is the URL `ws://host:4500` and the path `/srv/site`; undefined for a URL without a path. */
export function splitUrlAndPath(text: string): AddressAndPath | undefined {
	return findScheme(text)?.splitPath?.(text);
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
