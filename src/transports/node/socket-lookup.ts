// Linux only: NETLINK_SOCK_DIAG and the layout of `inet_diag_req_v2` and `inet_diag_msg`.
import {readSync, writeSync} from 'node:fs';
import {endianness} from 'node:os';
import {loadKoffi} from '../../shared/node/koffi.js';
import {MAPPED_PREFIX} from './address-bytes.js';
import type {PeerOwner} from './peer-owner.js';

/** One end of a connection: 4 or 16 bytes of address, and a port. */
export interface SocketEnd {
	readonly address: Uint8Array;
	readonly port: number;
}

/** Owner of the TCP socket with this local and this remote end; undefined if there is none, or it cannot be told. */
export type SocketLookup = (local: SocketEnd, remote: SocketEnd) => PeerOwner | undefined;

const AF_INET = 2;
const AF_INET6 = 10;
const AF_NETLINK = 16;
const SOCK_DGRAM = 2;
const SOCK_NONBLOCK = 0o4000;
const SOCK_CLOEXEC = 0o2000000;
const NETLINK_SOCK_DIAG = 4;
const SOCK_DIAG_BY_FAMILY = 20;
const NLM_F_REQUEST = 1;
const IPPROTO_TCP = 6;
const IPV4_BYTES = 4;

/** Header of a message: length, type, flags, number and sender. */
const HEADER = {bytes: 16, length: 0, type: 4, flags: 6, number: 8} as const;
/** Behind the header of a request; `id` is that of a reply, too. */
const REQUEST = {bytes: 72, family: 16, protocol: 17, id: 24} as const;
/** Behind the header of a reply. */
const REPLY = {bytes: 88, family: 16, id: 20, userId: 80, inode: 84} as const;
/** Ports in the order of the network, addresses of 16 bytes, interface and cookie, from where an `id` begins. */
const ID = {localPort: 0, remotePort: 2, local: 4, remote: 20, cookie: 40, cookieBytes: 8} as const;
/** A reply has attributes, too; an error repeats the request. */
const MAX_REPLY_BYTES = 4096;
/** Replies of earlier requests that may be in front of the one that is wanted. */
const MAX_STALE_REPLIES = 16;

let shared: SocketLookup | undefined;

/**
 * Asks the kernel for one socket. The table of all of them in /proc takes the longer the more there are, and milliseconds
 * even if there are few. Throws where the kernel cannot be asked. One for the whole program, as long as it runs.
 */
export function openSocketLookup(): SocketLookup {
	shared ??= createLookup();
	return shared;
}

function createLookup(): SocketLookup {
	if (process.platform !== 'linux' || endianness() !== 'LE') throw new Error('there is no NETLINK_SOCK_DIAG');
	const openSocket = loadKoffi().load(null).func('int socket(int domain, int type, int protocol)');
	const fd = openSocket(AF_NETLINK, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_SOCK_DIAG) as number;
	if (fd < 0) throw new Error('NETLINK_SOCK_DIAG is refused');
	const reply = Buffer.alloc(MAX_REPLY_BYTES);
	let number = 0;
	return (local, remote) => {
		number = (number + 1) >>> 0;
		try {
			writeSync(fd, encodeRequest(number, local, remote));
			for (let count = 0; count <= MAX_STALE_REPLIES; count++) {
				const message = reply.subarray(0, readSync(fd, reply));
				if (message.readUInt32LE(HEADER.number) === number) return decodeReply(message, local, remote);
			}
		} catch {
			// No answer, no owner: the caller looks elsewhere.
		}
		return undefined;
	};
}

function encodeRequest(number: number, local: SocketEnd, remote: SocketEnd): Buffer {
	const request = Buffer.alloc(REQUEST.bytes);
	request.writeUInt32LE(REQUEST.bytes, HEADER.length);
	request.writeUInt16LE(SOCK_DIAG_BY_FAMILY, HEADER.type);
	request.writeUInt16LE(NLM_F_REQUEST, HEADER.flags);
	request.writeUInt32LE(number, HEADER.number);
	// A socket of IPv6 with addresses of IPv4 is found as one of IPv4.
	request[REQUEST.family] = local.address.length === IPV4_BYTES ? AF_INET : AF_INET6;
	request[REQUEST.protocol] = IPPROTO_TCP;
	request.writeUInt16BE(local.port, REQUEST.id + ID.localPort);
	request.writeUInt16BE(remote.port, REQUEST.id + ID.remotePort);
	request.set(local.address, REQUEST.id + ID.local);
	request.set(remote.address, REQUEST.id + ID.remote);
	// Any socket, whatever its cookie is.
	request.fill(0xff, REQUEST.id + ID.cookie, REQUEST.id + ID.cookie + ID.cookieBytes);
	return request;
}

/** The kernel names a listening socket where there is no connection: both ends have to be the ones asked for. */
function decodeReply(message: Buffer, local: SocketEnd, remote: SocketEnd): PeerOwner | undefined {
	if (message.readUInt16LE(HEADER.type) !== SOCK_DIAG_BY_FAMILY || message.length < REPLY.bytes) return undefined;
	const isSame =
		message.readUInt16BE(REPLY.id + ID.localPort) === local.port &&
		message.readUInt16BE(REPLY.id + ID.remotePort) === remote.port &&
		isSameAddress(message, REPLY.id + ID.local, local.address) &&
		isSameAddress(message, REPLY.id + ID.remote, remote.address);
	const inode = message.readUInt32LE(REPLY.inode);
	// A socket that no process holds any more; root may be named as its owner.
	if (!isSame || inode === 0) return undefined;
	return {userId: message.readUInt32LE(REPLY.userId), inode: String(inode)};
}

function isSameAddress(message: Buffer, offset: number, address: Uint8Array): boolean {
	const isMapped = message[REPLY.family] === AF_INET6 && address.length === IPV4_BYTES;
	const expected = isMapped ? Buffer.concat([MAPPED_PREFIX, address]) : address;
	return message.subarray(offset, offset + expected.length).equals(expected);
}
