import type {TransportEvents} from '../transport.js';
import {BULK_FROM_BYTES, liftBulk} from './lift-bulk.js';

/** Hands over the bytes of one message, which are UTF-8 and not needed any more. */
export function deliver(events: TransportEvents, message: Buffer): void {
	const lifted = message.length > BULK_FROM_BYTES ? liftBulk(message) : undefined;
	if (lifted) events.message(lifted.text, lifted.bulk);
	else events.message(message.toString());
}
