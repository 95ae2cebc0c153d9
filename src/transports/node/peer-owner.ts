// Linux only: on other systems nothing tells whose process is at the other end of a TCP connection.
import {readFileSync} from 'node:fs';
import type {Socket} from 'node:net';
import {endianness} from 'node:os';
import {MAPPED_PREFIX, toAddressBytes} from './address-bytes.js';
import {openSocketLookup, type SocketEnd, type SocketLookup} from './socket-lookup.js';

/** Owner of the far end of a connection, as the kernel's table of sockets names it. */
export interface PeerOwner {
	readonly userId: number;
	/** Number of its socket, the N of the link `socket:[N]` of every descriptor of it. */
	readonly inode: string;
}

/** The far end of a connection from this machine, as far as the system tells. */
export type LocalPeer =
	| {readonly kind: 'tcp'; readonly findOwner: () => PeerOwner | undefined}
	/** `fd` is the near end. */
	| {readonly kind: 'unix'; readonly fd: number | undefined};

/** Members of a socket that name a connection. */
export type ConnectionEnds = Pick<Socket, 'localAddress' | 'localPort' | 'remoteAddress' | 'remotePort'>;

const ROOT = 0;
/** A user of another user namespace is shown by this id. */
const OVERFLOW_USER_ID = 65_534;
const EVERY_USER = /^\s*0\s+0\s+4294967295\s*$/;
/** A socket that no process holds any more; its row may name root as its owner. */
const NO_INODE = '0';
const WORD_DIGITS = 8;
const IPV4_BYTES = 4;
/** Sockets in the table that the kernel did not name when it was asked: it is not asked again after so many in a row. */
const MAX_MISSES = 8;

export type TableName = 'tcp' | 'tcp6';
export type ReadTable = (name: TableName) => string;

/**
 * Finds owners: asks the kernel for the one socket, and looks into its tables where it does not tell. One reading of those
 * serves all connections of a turn of the event loop.
 */
export class PeerOwners {
	readonly #read: ReadTable;
	readonly #texts = new Map<TableName, string>();
	/** Rows that were found in the texts above: a second connection of the same name is a later one. */
	readonly #found = new Set<string>();
	#lookUp: SocketLookup | undefined;
	#misses = 0;

	/** Without `lookUp` the tables alone are used. */
	constructor(read: ReadTable, lookUp?: SocketLookup) {
		this.#read = read;
		this.#lookUp = lookUp;
	}

	/** Undefined for a far end that is not on this machine, is closed already, or cannot be looked up. */
	find({localAddress, localPort, remoteAddress, remotePort}: ConnectionEnds): PeerOwner | undefined {
		if (localAddress === undefined || remoteAddress === undefined) return undefined;
		const near = {address: toAddressBytes(localAddress), port: localPort!};
		const far = {address: toAddressBytes(remoteAddress), port: remotePort!};
		return this.#ask(far, near) ?? this.#findInTables(far, near);
	}

	#ask(far: SocketEnd, near: SocketEnd): PeerOwner | undefined {
		const owner = this.#lookUp?.(far, near);
		if (owner) this.#misses = 0;
		return owner;
	}

	#findInTables(far: SocketEnd, near: SocketEnd): PeerOwner | undefined {
		for (const table of tablesFor(far)) {
			const owner = this.#findRow(table, ` ${formatEnd(far, table)} ${formatEnd(near, table)} `);
			if (!owner) continue;
			if (++this.#misses >= MAX_MISSES) this.#lookUp = undefined;
			return owner;
		}
		return undefined;
	}

	#findRow(table: TableName, ends: string): PeerOwner | undefined {
		const known = this.#texts.get(table);
		if (known !== undefined && !this.#found.has(ends)) {
			const owner = parseOwner(known, ends);
			if (owner) return this.#take(ends, owner);
		}
		const text = this.#refresh(table);
		const owner = parseOwner(text, ends);
		return owner && this.#take(ends, owner);
	}

	#take(ends: string, owner: PeerOwner): PeerOwner {
		this.#found.add(ends);
		return owner;
	}

	#refresh(table: TableName): string {
		if (this.#texts.size === 0) {
			setImmediate(() => {
				this.#texts.clear();
				this.#found.clear();
			});
		}
		let text = '';
		try {
			text = this.#read(table);
		} catch {
			// No table, no owner: the caller decides what that means.
		}
		this.#texts.set(table, text);
		return text;
	}
}

/** Refuses connections of other users of this machine; the text goes to the client. */
export function createUserCheck(
	userId = process.geteuid!(),
): (findOwner: () => PeerOwner | undefined) => string | undefined {
	const isAmbiguous = userId === OVERFLOW_USER_ID && !seesEveryUser();
	return findOwner => {
		const owner = isAmbiguous ? undefined : findOwner();
		// Root can trace and signal every process of this user anyway.
		if (owner?.userId === userId || owner?.userId === ROOT) return undefined;
		const who = owner ? `this connection is of the user ${owner.userId}` : 'it cannot be told whose this connection is';
		return `without tokens only the user ${userId} of this machine may connect, and ${who}`;
	};
}

/** Owners of the connections of this machine. */
export function createPeerOwners(): PeerOwners {
	try {
		return new PeerOwners(readSocketTable, openSocketLookup());
	} catch {
		return new PeerOwners(readSocketTable);
	}
}

function readSocketTable(name: TableName): string {
	return readFileSync(`/proc/net/${name}`, 'latin1');
}

/** Whether all users of the machine have an id of their own here. */
function seesEveryUser(): boolean {
	try {
		return EVERY_USER.test(readFileSync('/proc/self/uid_map', 'latin1'));
	} catch {
		return false;
	}
}

/** An IPv4 connection may have been made with a socket of either family. */
function tablesFor({address}: SocketEnd): readonly TableName[] {
	return address.length === IPV4_BYTES ? ['tcp', 'tcp6'] : ['tcp6'];
}

/** `inode` and user id of the row with these ends. */
function parseOwner(text: string, ends: string): PeerOwner | undefined {
	const start = text.indexOf(ends);
	if (start < 0) return undefined;
	const end = text.indexOf('\n', start);
	// State, queues, timers and retransmits are followed by the user, a timeout and the inode.
	const [, , , , userId, , inode] = text
		.slice(start + ends.length, end < 0 ? undefined : end)
		.trim()
		.split(/\s+/);
	if (userId === undefined || inode === undefined || inode === NO_INODE) return undefined;
	return {userId: Number(userId), inode};
}

/** One end as the kernel writes it: each word of the address in the order of the machine, the port as it is. */
function formatEnd({address, port}: SocketEnd, table: TableName): string {
	const isMapped = table === 'tcp6' && address.length === IPV4_BYTES;
	const whole = isMapped ? Buffer.concat([MAPPED_PREFIX, address]) : Buffer.from(address);
	const words = whole.toString('hex').match(/.{8}/g)!.map(toMachineOrder).join('');
	return `${words.toUpperCase()}:${port.toString(16).toUpperCase().padStart(4, '0')}`;
}

function toMachineOrder(word: string): string {
	if (endianness() === 'BE') return word.padStart(WORD_DIGITS, '0');
	return word.match(/../g)!.reverse().join('');
}
