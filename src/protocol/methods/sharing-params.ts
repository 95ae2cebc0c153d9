import * as v from 'valibot';
import {optionalField, stringMap, u64} from '../wire/fields.js';

export const processRole = v.picklist(['observe', 'drive']);
/** Role of a client at a process: `drive` includes `observe`. */
export type ProcessRole = v.InferOutput<typeof processRole>;

const audience = v.picklist(['owner', 'any']);
/** Clients that may look at a process, or drive it: those of its owner, or all that may connect. */
export type Audience = v.InferOutput<typeof audience>;

export const awaitedInput = v.picklist(['input', 'password']);
/** Kind of input a process waits for; a password is input that the terminal does not show. */
export type AwaitedInput = v.InferOutput<typeof awaitedInput>;

const processWait = v.picklist([...awaitedInput.options, 'disk', 'limit', 'reader']);
/**
 * Thing that a process waits for: input; `disk`, the disk of the server's state, which does not take its output; `limit`, more room
 * than its output was given on disk; `reader`, a client that does not read its output.
 */
export type ProcessWait = v.InferOutput<typeof processWait>;

/** Members of `process/start` beyond upstream's that concern other clients and the time after this one. */
export const sharingParams = v.object({
	/** longarm: name by which clients find the process; one that ended frees its name. */
	name: optionalField(v.string()),
	/** longarm: facts to find processes by. */
	labels: optionalField(stringMap),
	/** longarm: who else may attach; the owner only by default. */
	share: optionalField(v.object({observe: optionalField(audience), drive: optionalField(audience)})),
	/** longarm: output goes to disk, so that no reader holds the process back and it can be read after the end. */
	spill: optionalField(
		v.object({
			maxBytes: optionalField(u64),
			/** At `maxBytes` the process waits, or the oldest output is dropped and the gap announced. */
			onFull: optionalField(v.picklist(['pause', 'dropOldest'])),
		}),
	),
	/** longarm: the process survives a crash of the server, in a process of its own that keeps it. */
	durable: v.nullish(v.boolean(), false),
	/** longarm: sizes of the terminal are recorded with the output and, if asked for, input that the terminal shows. */
	record: optionalField(v.object({input: v.nullish(v.boolean(), false)})),
});

/** Members of an entry of `process/list` about other clients and the time after the session. */
export const listedSharing = v.object({
	/** longarm: `null` without one. */
	name: v.nullish(v.string()),
	/** longarm: name of the token that started it; `null` without tokens. */
	owner: v.nullish(v.string()),
	labels: v.optional(stringMap),
	durable: v.optional(v.boolean()),
	/** longarm: bytes of output on disk; `null` if it is not kept there. */
	spilledBytes: v.nullish(u64),
	/** longarm: clients that get its events, the driver included. */
	attached: v.optional(
		v.array(
			v.object({
				client: v.string(),
				role: processRole,
				sinceMs: v.number(),
				/** Present for the client that asked: several clients may have one name. */
				isSelf: v.optional(v.boolean()),
			}),
		),
	),
	/** longarm: name of the client that drives it; `null` if none does. */
	driver: v.nullish(v.string()),
	/** longarm: size of its terminal; `null` without one. */
	rows: v.nullish(v.number()),
	cols: v.nullish(v.number()),
	/** longarm: with `all`, what it waits for, where the system tells. */
	waitingFor: v.nullish(processWait),
	/** longarm: server or keeper that started it, by its version and start. */
	generation: v.nullish(v.string()),
});
