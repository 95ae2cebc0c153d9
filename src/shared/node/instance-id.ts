import {randomUUID} from 'node:crypto';

/** Names this process among all that were ever started: a server that was restarted has another one. */
export const INSTANCE_ID: string = randomUUID();
