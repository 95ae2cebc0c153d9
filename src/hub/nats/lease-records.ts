import * as v from 'valibot';
import {executorLoad} from '../../protocol/relay/executor-offer.js';

/** Executors that share one entry of the bucket: it is written every 15 s, however many there are. */
export const EXECUTORS_PER_ENTRY = 100;

const SEPARATOR = '.';

const executor = v.object({
	tenant: v.string(),
	environmentId: v.string(),
	registrationId: v.string(),
	streams: v.number(),
	load: v.optional(executorLoad),
	onlineForMs: v.number(),
});
export type LeasedExecutor = v.InferOutput<typeof executor>;

/** Entry of the bucket of leases: some executors of one node. */
export const leaseEntry = v.object({isDraining: v.boolean(), executors: v.array(executor)});
export type LeaseEntry = v.InferOutput<typeof leaseEntry>;

/** Key of an entry: the node and a number. */
export function leaseKey(node: string, index: number): string {
	return `${node}${SEPARATOR}${index}`;
}

export function nodeOfLease(key: string): string {
	return key.split(SEPARATOR)[0]!;
}
