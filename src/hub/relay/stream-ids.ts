import {randomUUID} from 'node:crypto';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
/** Place and digit of the version in a UUID: clients make ids of version 4, and 8 is for uses of one's own. */
const VERSION_INDEX = 14;
const RESERVED_VERSION = '8';

/**
 * An id for a stream of the hub itself, which no client can claim at any node. Otherwise a client could pass a handshake that
 * is meant as a question to an executor on to the executor itself, and the answer back.
 */
export function createReservedStreamId(): string {
	const id = randomUUID();
	return `${id.slice(0, VERSION_INDEX)}${RESERVED_VERSION}${id.slice(VERSION_INDEX + 1)}`;
}

/** Whether a client may claim a stream by this id. */
export function isClientStreamId(id: string): boolean {
	return UUID.test(id) && id[VERSION_INDEX] !== RESERVED_VERSION;
}
