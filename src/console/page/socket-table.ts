/** A socket that waits for connections. */
export interface ListeningPort {
	readonly port: number;
	readonly address: string;
}

const LISTENING = '0A';
const IPV4_DIGITS = 8;
const MAPPED = /^0{20}ffff/;

/** Sockets that listen, from the table of sockets of Linux; each port and address once. */
export function parseListening(table: string): ListeningPort[] {
	const found = new Map<string, ListeningPort>();
	for (const line of table.split('\n')) {
		const [, local, , state] = line.trim().split(/\s+/);
		const [digits, portDigits] = local?.split(':') ?? [];
		if (state !== LISTENING || !digits || !portDigits || !/^[\dA-F]+$/.test(digits)) continue;
		const port = Number.parseInt(portDigits, 16);
		const address = toAddress(digits);
		found.set(`${address} ${port}`, {port, address});
	}
	return [...found.values()].sort((one, other) => one.port - other.port || one.address.localeCompare(other.address));
}

/** Words are written in the order of bytes of the machine, which is nearly always the reverse. */
function toAddress(digits: string): string {
	const words = digits.match(/.{8}/g) ?? [];
	const bytes = words
		.map(word => (word.match(/../g) ?? []).reverse().join(''))
		.join('')
		.toLowerCase();
	const last = bytes.slice(-IPV4_DIGITS);
	if (digits.length === IPV4_DIGITS || MAPPED.test(bytes)) {
		return (last.match(/../g) ?? []).map(byte => Number.parseInt(byte, 16)).join('.');
	}
	const groups = (bytes.match(/.{4}/g) ?? []).map(group => group.replace(/^0{1,3}/, ''));
	return groups.join(':').replace(/(?:^|:)0(?::0)+(?::|$)/, '::');
}
