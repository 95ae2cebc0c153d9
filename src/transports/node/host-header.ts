import {isIP} from 'node:net';
import {isLoopback} from './loopback.js';

/** Addresses that stand for all of this machine. */
const ANY_ADDRESS: ReadonlySet<string> = new Set(['0.0.0.0', '::']);
const LOCAL_NAME = 'localhost';

/**
 * Checks the `Host` header of requests to a listener on `address`. A web page whose name was made to resolve to this
 * machine sends that name; an address, or a name that is always local, cannot be made to. Programs that send no header
 * are no browsers.
 */
export function createHostCheck(
	address: string,
	allowedNames: readonly string[],
): (header: string | undefined) => boolean {
	const names = new Set([LOCAL_NAME, ...allowedNames.map(normalizeName)]);
	return header => {
		if (header === undefined) return true;
		const host = readHost(header);
		if (host === undefined) return false;
		if (names.has(host)) return true;
		return isIP(host) !== 0 && (ANY_ADDRESS.has(address) || isLoopback(host) || host === address);
	};
}

/** Host without port and brackets; undefined for a text that is none. */
function readHost(header: string): string | undefined {
	const [, ipv6, name] = /^(?:\[([^\]]*)\]|([^:[\]]*))(?::\d*)?$/.exec(header.trim()) ?? [];
	const host = ipv6 ?? name;
	return host === undefined || host === '' ? undefined : normalizeName(host);
}

/** Names are the same in any case, and with the dot of the root behind them. */
function normalizeName(name: string): string {
	return name.toLowerCase().replace(/\.$/, '');
}
