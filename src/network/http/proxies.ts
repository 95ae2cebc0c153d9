import {BlockList, isIP} from 'node:net';
import {requestFailed} from '../network-failures.js';
import type {HttpVariables} from './http-request.js';

const DEFAULT_PORTS: Record<string, string> = {'http:': '80', 'https:': '443'};

/** The proxy the executor's variables ask for on the way to a URL, if any. */
export function proxyFor(url: URL, variables: HttpVariables): URL | undefined {
	const scheme = url.protocol.slice(0, -1);
	const setting = named(variables, [`${scheme}_proxy`, 'all_proxy']);
	if (!setting || isExempt(url, named(variables, ['no_proxy'])?.value ?? '')) return undefined;
	return usable(setting);
}

export function portOf({port, protocol}: URL): string {
	return port || DEFAULT_PORTS[protocol]!;
}

/** As `connect` wants it: an IPv6 address without its brackets. */
export function hostOf({hostname}: URL): string {
	return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
}

interface Setting {
	readonly name: string;
	readonly value: string;
}

/** The first of these that says something, in small letters before capitals. */
function named(variables: HttpVariables, names: readonly string[]): Setting | undefined {
	for (const name of names.flatMap(each => [each, each.toUpperCase()])) {
		const value = variables[name]?.trim();
		if (value) return {name, value};
	}
	return undefined;
}

function usable({name, value}: Setting): URL {
	// Neither text shows the value: it may hold a password.
	let url: URL;
	try {
		url = new URL(value.includes('://') ? value : `http://${value}`);
	} catch {
		throw requestFailed(`${name} of the executor is not the URL of a proxy`);
	}
	if ((url.protocol === 'http:' || url.protocol === 'https:') && url.hostname !== '') return url;
	throw requestFailed(`${name} of the executor names a proxy of an unsupported kind (${url.protocol.slice(0, -1)})`);
}

/** `no_proxy`: names with everything below them, addresses, ranges such as 10.0.0.0/8, each with a port or without. */
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
