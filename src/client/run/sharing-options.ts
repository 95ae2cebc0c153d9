import type {Audience} from '../../protocol/methods/sharing-params.js';
import {type OptionTable, requireKnownOptions} from '../../shared/call-options.js';
import type {StartParams} from '../process/process-handle.js';
import {requireCapability} from '../session/require-capability.js';

/** Clients that may look at a process, or drive it: those of its owner, or all that may connect. */
export type {Audience};

/** Options of a command that concern other clients, and the time after this one. */
export interface SharingOptions {
	/** Name by which clients find the process; free again when it has ended. Needs `processAttach`. */
	readonly name?: string | undefined;
	/** Facts to find processes by. Needs `processAttach`. */
	readonly labels?: Readonly<Record<string, string>> | undefined;
	/** Who else may attach; its owner only by default. Needs `processShare`. */
	readonly share?: {readonly observe?: Audience | undefined; readonly drive?: Audience | undefined} | undefined;
	/**
	 * Keeps the output on disk, so that no reader holds the process back and it can be read after the end. At `maxBytes` the
	 * process waits, or the oldest output is dropped. Needs `processSpill`.
	 */
	readonly spill?:
		| boolean
		| {readonly maxBytes?: number | undefined; readonly onFull?: 'pause' | 'dropOldest' | undefined}
		| undefined;
	/** The process survives a crash of the server. Needs `processDurable`. */
	readonly durable?: boolean | undefined;
	/** Records sizes of the terminal and, if asked for, input that it shows, with the output. Needs `processRecord`. */
	readonly record?: boolean | {readonly input?: boolean | undefined} | undefined;
	/** The process outlives this client, with its output on disk. Needs `processAttach` and `processSpill`. */
	readonly detach?: boolean | undefined;
}

export const SHARING_OPTIONS: OptionTable<SharingOptions> = {
	name: 'text',
	labels: 'object',
	share: 'object',
	spill: 'any',
	durable: 'flag',
	record: 'any',
	detach: 'flag',
};

type SharingParams = Pick<StartParams, 'name' | 'labels' | 'share' | 'spill' | 'durable' | 'record' | 'onDisconnect'>;

/** Capabilities that announce the members of `process/start`; `onDisconnect` is there for `keep`. */
const CAPABILITIES: Readonly<Record<keyof SharingParams, string>> = {
	name: 'processAttach',
	labels: 'processAttach',
	onDisconnect: 'processAttach',
	share: 'processShare',
	spill: 'processSpill',
	durable: 'processDurable',
	record: 'processRecord',
};

/** Members of `process/start` for the options. Throws a `TypeError` for values that cannot be meant. */
export function toSharingParams(options: SharingOptions & {readonly onDisconnect?: unknown}): SharingParams {
	const {name, labels, share, spill = options.detach ?? false, durable, record, detach, onDisconnect} = options;
	if (detach && onDisconnect !== undefined)
		throw new TypeError('options `detach` and `onDisconnect` exclude each other');
	if (labels) requireTexts(labels);
	return {
		...(name !== undefined && {name}),
		...(labels && {labels}),
		...(share && {share: toShare(share)}),
		...(spill !== false && {spill: toSpill(spill)}),
		...(durable && {durable}),
		...(record !== undefined && record !== false && {record: toRecord(record)}),
		...(detach && {onDisconnect: 'keep'}),
	};
}

/** A server that does not know a member would start a process of another kind. */
export function requireSharing(
	params: SharingParams,
	capabilities: Readonly<Record<string, boolean>> | null | undefined,
): void {
	for (const member of Object.keys(params) as (keyof SharingParams)[]) {
		requireCapability(capabilities, CAPABILITIES[member], member === 'onDisconnect' ? 'detach' : member);
	}
}

function toShare(share: NonNullable<SharingOptions['share']>): NonNullable<SharingParams['share']> {
	requireKnownOptions(share, ['observe', 'drive'], 'share');
	for (const [role, audience] of Object.entries(share) as [string, unknown][]) {
		if (audience === undefined || audience === 'owner' || audience === 'any') continue;
		throw new TypeError(`\`${role}\` of option \`share\` must be 'owner' or 'any'`);
	}
	const {observe, drive} = share;
	return {...(observe && {observe}), ...(drive && {drive})};
}

function toSpill(spill: NonNullable<SharingOptions['spill']>): NonNullable<SharingParams['spill']> {
	if (spill === true) return {};
	if (typeof spill !== 'object') throw new TypeError("option `spill` must be true or {maxBytes, onFull: 'pause'}");
	requireKnownOptions(spill, ['maxBytes', 'onFull'], 'spill');
	const {maxBytes, onFull} = spill;
	if (maxBytes !== undefined && !(Number.isSafeInteger(maxBytes) && maxBytes > 0)) {
		throw new TypeError('`maxBytes` of option `spill` must be a whole number above 0');
	}
	if (onFull !== undefined && onFull !== 'pause' && onFull !== 'dropOldest') {
		throw new TypeError("`onFull` of option `spill` must be 'pause' or 'dropOldest'");
	}
	return {...(maxBytes !== undefined && {maxBytes}), ...(onFull && {onFull})};
}

function toRecord(record: NonNullable<SharingOptions['record']>): NonNullable<SharingParams['record']> {
	if (record === true) return {};
	if (typeof record !== 'object') throw new TypeError('option `record` must be true or {input: true}');
	requireKnownOptions(record, ['input'], 'record');
	const {input} = record;
	if (input !== undefined && typeof input !== 'boolean') {
		throw new TypeError('`input` of option `record` must be true or false');
	}
	return {...(input && {input})};
}

function requireTexts(labels: Readonly<Record<string, string>>): void {
	const wrong = Object.keys(labels).find(label => typeof labels[label] !== 'string');
	if (wrong !== undefined) throw new TypeError(`label \`${wrong}\` must be text`);
}
