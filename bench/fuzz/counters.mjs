import {Counter} from '../lib/counter.mjs';

/** Sums over all connections so far. */
export const totals = {messages: 0, probes: 0, episodes: 0, connections: 0, starts: 0, sentBytes: 0, receivedBytes: 0};

/** How often each kind of input was sent, and how often each outcome followed. */
export const kinds = new Counter();
export const outcomes = new Counter();
