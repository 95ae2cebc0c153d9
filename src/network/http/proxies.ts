import {BlockList, isIP} from 'node:net';
import {requestFailedError} from '../network-failures.js';
import type {HttpVariables} from './http-request.js';

const DEFAULT_PORTS: Record<string, string> = {'http:': '80', 'https:': '443'};

/** The `*_proxy` variables of the executor; undefined where none is set. */
export interface ProxySettings {
	readonly 'http:': ProxyVariable | undefined;
	readonly 'https:': ProxyVariable | undefined;
	readonly exempt: string;
}

interface ProxyVariable {
	readonly name: string;
	readonly value: string;
}

export function readProxySettings(variables: HttpVariables): ProxySettings {
	return {
		'http:': findVariable(variables, ['http_proxy', 'all_proxy']),
		'https:': findVariable(variables, ['https_proxy', 'all_proxy']),
		exempt: findVariable(variables, ['no_proxy'])?.value ?? '',
	};
}

/** Proxy for a URL, if any. */
export function findProxy(url: URL, settings: ProxySettings): URL | undefined {
	const setting = settings[url.protocol as 'http:' | 'https:'];
	if (!setting || isExempt(url, settings.exempt)) return undefined;
	return parseProxyUrl(setting);
}

export function portOf({port, protocol}: URL): string {
	return port || DEFAULT_PORTS[protocol]!;
}

/** Host for `net.connect`: an IPv6 address without its brackets. */
export function hostOf({hostname}: URL): string {
	return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
}

/** First variable that is set and not empty, lower case before upper case. */
function findVariable(variables: HttpVariables, names: readonly string[]): ProxyVariable | undefined {
	for (const name of names.flatMap(each => [each, each.toUpperCase()])) {
		const value = variables[name]?.trim();
		if (value) return {name, value};
	}
	return undefined;
}

function parseProxyUrl({name, value}: ProxyVariable): URL {
	// The messages leave out the value: it may hold a password.
	let url: URL;
	try {
		url = new URL(value.includes('://') ? value : `http://${value}`);
	} catch {
		throw requestFailedError(`${name} of the executor is not the URL of a proxy`);
	}
	if ((url.protocol === 'http:' || url.protocol === 'https:') && url.hostname !== '') return url;
	throw requestFailedError(
		`${name} of the executor names a proxy of an unsupported kind (${url.protocol.slice(0, -1)})`,
	);
}

/** `no_proxy`: domains with their subdomains, addresses, ranges such as 10.0.0.0/8, each with a port or without. */
function isExempt(url: URL, exempt: string): boolean {
	const host = hostOf(url).toLowerCase();
	return exempt.split(/[\s,]+/).some(entry => {
		if (entry === '*') return true;
		const [, name = '', port] = /^(.*?)(?::(\d+))?$/.exec(isIP(entry) === 6 ? `[${entry}]` : entry)!;
		if (name === '' || (port !== undefined && port !== portOf(url))) return false;
		if (name.includes('/')) return isInRange(host, name);
		const bare = name
			.toLowerCase()
			.replace(/^\*?\./, '')
			.replace(/^\[(.*)\]$/, '$1');
		return host === bare || (isIP(host) === 0 && host.endsWith(`.${bare}`));
	});
}

function isInRange(host: string, range: string): boolean {
	const [base = '', bits] = range.split('/');
	const family = isIP(base) === 6 ? 'ipv6' : 'ipv4';
	if (isIP(host) === 0 || isIP(host) !== isIP(base)) return false;
	const list = new BlockList();
	try {
		list.addSubnet(base, Number(bits), family);
	} catch {
		return false;
	}
	return list.check(host, family);
}
