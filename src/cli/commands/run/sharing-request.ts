import type {SharingOptions} from '../../../client/run/sharing-options.js';
import {randomHex} from '../../../shared/random-id.js';
import {parseLabels} from '../../common/processes/label-option.js';
import {usageError} from '../../exit-codes.js';

/** Options about other clients and the time after this one, as they are given on the command line. */
export interface SharingRequest {
	readonly detach: boolean;
	/** It survives its server, and so this program. */
	readonly keep: boolean;
	readonly name: string | undefined;
	/** `KEY=value`. */
	readonly labels: readonly string[];
	readonly record: boolean;
}

export interface ReadSharing {
	readonly isDetached: boolean;
	readonly sharing: SharingOptions | undefined;
	/** Undefined for one that nobody asks for. */
	readonly processId: string | undefined;
}

/** Long enough to be found nowhere twice, short enough to be copied. */
const ID_BYTES = 6;
/** Names of processes and labels. */
const NAME = /^[A-Za-z0-9][\w.-]{0,63}$/;

/** Throws for a request that cannot be meant, before anything is connected to. */
export function parseSharingRequest({detach, keep, name, labels, record}: SharingRequest): ReadSharing {
	if (name !== undefined && !NAME.test(name)) {
		throw usageError(
			`--name ${name}: expected up to 64 letters, digits, dots, dashes and underscores, beginning with a letter or digit`,
		);
	}
	const isDetached = detach || keep;
	const sharing: SharingOptions = {
		...(name !== undefined && {name}),
		...(labels.length > 0 && {labels: parseLabels(labels)}),
		...(record && {record, spill: true}),
		...(keep && {durable: true}),
		...(isDetached && {detach: true}),
	};
	return {isDetached, sharing, processId: randomHex(ID_BYTES)};
}
