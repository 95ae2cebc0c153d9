import * as v from 'valibot';
import {findLabelsFault} from '../../shared/labels.js';
import {isPoolName, MAX_POOLS, MAX_SLOTS} from './pool-selector.js';

/** Member of requests and messages that holds our own fields: other registries and executors pass it by. */
export const EXTENSION = 'longarm';
/** Characters of a message with the load of an executor. */
export const MAX_LOAD_CHARACTERS = 1024;

const labels = v.pipe(
	v.record(v.string(), v.string()),
	v.check(given => findLabelsFault(given) === undefined),
);
const pools = v.pipe(v.array(v.pipe(v.string(), v.check(isPoolName))), v.maxLength(MAX_POOLS));

/** Labels, pools and slots that an executor registers with. */
export const poolOffer = v.object({
	labels,
	pools,
	slots: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(MAX_SLOTS)),
});
export type PoolOffer = Readonly<v.InferOutput<typeof poolOffer>>;

/** Load of an executor: `used` may be above `slots`. A draining one takes nobody. */
export const executorLoad = v.object({
	used: v.pipe(v.number(), v.integer(), v.minValue(0)),
	/** Clients that pools have sent since it started, let in or not. */
	arrivals: v.pipe(v.number(), v.integer(), v.minValue(0)),
	state: v.picklist(['open', 'draining']),
});
export type ExecutorLoad = Readonly<v.InferOutput<typeof executorLoad>>;

/** The offer in the body of a registration; undefined for one that cannot be read, or for an executor without. */
export function readOffer(body: Readonly<Record<string, unknown>>): PoolOffer | undefined {
	const {success, output} = v.safeParse(poolOffer, body[EXTENSION]);
	return success ? output : undefined;
}

/** Text message in which an executor tells its load to a hub that understands it. */
export function encodeLoad({used, arrivals, state}: ExecutorLoad): string {
	return JSON.stringify({[EXTENSION]: {used, arrivals, state}});
}

/** The load in a text message; undefined for any other message. */
export function decodeLoad(text: string): ExecutorLoad | undefined {
	if (text.length > MAX_LOAD_CHARACTERS) return undefined;
	try {
		const {success, output} = v.safeParse(
			executorLoad,
			(JSON.parse(text) as Record<string, unknown> | null)?.[EXTENSION],
		);
		return success ? output : undefined;
	} catch {
		return undefined;
	}
}
