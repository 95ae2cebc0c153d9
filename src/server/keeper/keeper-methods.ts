import * as v from 'valibot';
import {outputStream, processId, startParams} from '../../protocol/methods/process-methods.js';
import {empty, stringMap, u64} from '../../protocol/wire/fields.js';

const audience = v.picklist(['owner', 'any']);

const outputBlock = v.picklist(['disk', 'limit']);

/** A process of a keeper, as the server shows it again. */
const heldProcess = v.object({
	processId,
	/** Name of the token that started it. */
	owner: v.nullable(v.string()),
	/** Path of its files. */
	directory: v.string(),
	pid: v.number(),
	argv: v.array(v.string()),
	tty: v.boolean(),
	rows: v.nullable(v.number()),
	cols: v.nullable(v.number()),
	streams: v.array(outputStream),
	/** It has a standard input that was not closed. */
	takesInput: v.boolean(),
	startedAtMs: v.number(),
	ageMs: v.number(),
	sandbox: v.picklist(['none', 'sandboxed', 'sandboxedWithNetwork']),
	sharing: v.nullable(v.object({name: v.nullable(v.string()), labels: stringMap, observe: audience, drive: audience})),
	/** Reason why its output waits. */
	blockedOn: v.nullish(outputBlock),
});
export type HeldProcess = v.InferOutput<typeof heldProcess>;

/**
 * Requests that a keeper answers beside those of the protocol, for the server of its state directory alone. The version of
 * either may be an older one: members are added, and never changed.
 */
export const KEEPER_METHODS = {
	/** Starts a process whose files are to be made at a path that is free; its events follow. */
	'keeper/start': {
		params: v.object({owner: v.nullable(v.string()), directory: v.string(), start: startParams}),
		result: heldProcess,
	},
	/** Processes that have not closed. */
	'keeper/list': {params: empty, result: v.object({processes: v.array(heldProcess)})},
	/** Sends the events of a process after one of them, and lets this connection drive it. */
	'keeper/follow': {params: v.object({processId, afterSeq: u64}), result: empty},
	/** Ends the keeper if there is nothing in it. */
	'keeper/end': {params: empty, result: v.object({ends: v.boolean()})},
} as const;

/** Notification of a keeper: the output of a process waits, or no longer does. */
export const KEEPER_BLOCKED = 'keeper/blocked';
export const keeperBlockedParams = v.object({
	processId,
	blockedOn: v.nullable(outputBlock),
	/** In words. */
	reason: v.nullable(v.string()),
});
export type KeeperBlockedParams = v.InferOutput<typeof keeperBlockedParams>;

export type KeeperMethod = keyof typeof KEEPER_METHODS;
export type KeeperParams<M extends KeeperMethod> = v.InferOutput<(typeof KEEPER_METHODS)[M]['params']>;
export type KeeperParamsOnWire<M extends KeeperMethod> = v.InferInput<(typeof KEEPER_METHODS)[M]['params']>;
export type KeeperResult<M extends KeeperMethod> = v.InferOutput<(typeof KEEPER_METHODS)[M]['result']>;

export function isKeeperMethod(name: string): name is KeeperMethod {
	return Object.hasOwn(KEEPER_METHODS, name);
}
