import {isIPv4} from 'node:net';

/** Bytes in front of an IPv4 address that make it an IPv6 one. */
export const MAPPED_PREFIX: Uint8Array = Buffer.from('00000000000000000000ffff', 'hex');

/** An address as it is on the wire: 4 bytes, also for an IPv4 address in the form of IPv6, or 16. */
export function toAddressBytes(address: string): Buffer {
	const ipv4 = toIpv4(address);
	return ipv4 === undefined ? ipv6Bytes(address) : Buffer.from(ipv4.split('.').map(Number));
}

/** The IPv4 address of a text such as `127.0.0.1` or `::ffff:127.0.0.1`. */
function toIpv4(address: string): string | undefined {
	const bare = address.replace(/^::ffff:(?=[\d.]+$)/i, '');
	return isIPv4(bare) ? bare : undefined;
}

function ipv6Bytes(address: string): Buffer {
	const [head = '', tail] = address.split('%', 1)[0]!.split('::');
	const [front, back] = [splitGroups(head), splitGroups(tail ?? '')];
	const missing = tail === undefined ? 0 : 8 - front.length - back.length;
	const all = [...front, ...Array.from({length: missing}, () => '0'), ...back];
	return Buffer.from(all.map(group => group.padStart(4, '0')).join(''), 'hex');
}

function splitGroups(text: string): string[] {
	return text === '' ? [] : text.split(':');
}
