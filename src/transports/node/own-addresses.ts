import {networkInterfaces} from 'node:os';
import {isLoopback} from './loopback.js';

interface ListeningAddress {
	readonly address: string;
	readonly port: number;
}

const ANY_ADDRESS: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

/** Ports of the network that this process serves clients on. */
const listening = new Set<ListeningAddress>();

/** Registers an address that clients are served on; the returned function takes it back. */
export function registerListening({address, port}: ListeningAddress): () => void {
	const entry = {address, port};
	listening.add(entry);
	return () => void listening.delete(entry);
}

/** Whether a connection to this address is one to ourselves. */
export function isServedHere(address: string, port: number): boolean {
	const host = withoutMapping(address);
	return [...listening].some(
		each => each.port === port && (each.address === host || (ANY_ADDRESS.has(each.address) && isOfThisMachine(host))),
	);
}

/** Whether an IP address is one of this machine's. */
export function isOfThisMachine(address: string): boolean {
	const host = withoutMapping(address);
	return isLoopback(host) || Object.values(networkInterfaces()).some(all => all?.some(each => each.address === host));
}

/** An IPv4 address, as a listener for both families names it, without its prefix. */
export function withoutMapping(address: string): string {
	return address.replace(/^::ffff:(?=[\d.]+$)/i, '').replace(/%.*$/, '');
}
