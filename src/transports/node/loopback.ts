import {BlockList, isIP} from 'node:net';

/** Named by nearly all clients, and known without a search. */
const USUAL: ReadonlySet<string> = new Set(['127.0.0.1', '::1']);

let addresses: BlockList | undefined;

/** Whether an IP literal is reached from this machine only. */
export function isLoopback(host: string): boolean {
	if (USUAL.has(host)) return true;
	addresses ??= loopbackAddresses();
	return isIP(host) !== 0 && addresses.check(host, isIP(host) === 6 ? 'ipv6' : 'ipv4');
}

function loopbackAddresses(): BlockList {
	const list = new BlockList();
	list.addSubnet('127.0.0.0', 8, 'ipv4');
	list.addAddress('::1', 'ipv6');
	return list;
}
