import {BlockList, isIP} from 'node:net';

/** Ranges of the special-purpose registries of IANA that no host of the public network has. */
const PRIVATE_IPV4 = [
	'0.0.0.0/8',
	'10.0.0.0/8',
	'100.64.0.0/10',
	'127.0.0.0/8',
	'169.254.0.0/16',
	'172.16.0.0/12',
	'192.0.0.0/24',
	'192.0.2.0/24',
	'192.88.99.0/24',
	'192.168.0.0/16',
	'198.18.0.0/15',
	'198.51.100.0/24',
	'203.0.113.0/24',
	'224.0.0.0/3',
];
/** The only part of IPv6 that is assigned to public hosts. */
const GLOBAL_UNICAST = '2000::/3';
/** Parts of it that are not: Teredo and other special uses, documentation, and 6to4, which leads to any IPv4 address. */
const PRIVATE_IPV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];
/** First six groups of forms that stand for the IPv4 address in the last two: mapped (`::ffff:a.b.c.d`) and NAT64. */
const IPV4_PREFIXES = new Set(['0:0:0:0:0:ffff', '64:ff9b:0:0:0:0']);
const IPV6_GROUPS = 8;

let ranges: {readonly private4: BlockList; readonly global6: BlockList; readonly private6: BlockList} | undefined;

/**
 * Whether an IP literal is one of the public network. Forms of IPv6 that lead to an IPv4 address are judged by that one;
 * everything unassigned is private.
 */
export function isPublicAddress(address: string): boolean {
	ranges ??= {
		private4: toBlockList(PRIVATE_IPV4, 'ipv4'),
		global6: toBlockList([GLOBAL_UNICAST], 'ipv6'),
		private6: toBlockList(PRIVATE_IPV6, 'ipv6'),
	};
	const bare = address.split('%', 1)[0]!;
	if (isIP(bare) === 4) return !ranges.private4.check(bare, 'ipv4');
	if (isIP(bare) !== 6) return false;
	const embedded = findEmbeddedIpv4(bare);
	if (embedded !== undefined) return isPublicAddress(embedded);
	return ranges.global6.check(bare, 'ipv6') && !ranges.private6.check(bare, 'ipv6');
}

function findEmbeddedIpv4(address: string): string | undefined {
	const groups = toGroups(address);
	if (!IPV4_PREFIXES.has(groups.slice(0, -2).join(':'))) return undefined;
	return groups
		.slice(-2)
		.map(group => Number.parseInt(group, 16))
		.flatMap(value => [value >> 8, value & 0xff])
		.join('.');
}

/** The eight groups, without leading zeros. The parser of URLs writes a dotted end as groups. */
function toGroups(address: string): string[] {
	const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
	const [front, back] = [head, tail ?? ''].map(part => part.split(':').filter(Boolean));
	const zeros = Array.from({length: IPV6_GROUPS - front!.length - back!.length}, () => '0');
	return [...front!, ...zeros, ...back!];
}

function toBlockList(subnets: readonly string[], family: 'ipv4' | 'ipv6'): BlockList {
	const list = new BlockList();
	for (const subnet of subnets) {
		const [base = '', bits] = subnet.split('/');
		list.addSubnet(base, Number(bits), family);
	}
	return list;
}
