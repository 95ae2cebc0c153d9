import type {Audience} from '../protocol/methods/sharing-params.js';
import {LongarmError} from '../shared/errors.js';

/** Characters of a name, and of the key of a label. */
const MAX_NAME_CHARS = 64;
const MAX_LABELS = 32;
const MAX_LABEL_VALUE_CHARS = 256;
const NAME = new RegExp(`^[A-Za-z0-9][A-Za-z0-9._-]{0,${MAX_NAME_CHARS - 1}}$`);

export type Labels = Readonly<Record<string, string>>;

/** Facts about a process that concern clients other than the one that started it. */
export interface ProcessSharing {
	/** Name by which clients find it. */
	readonly name: string | undefined;
	readonly labels: Labels;
	/** Clients that may look on, and those that may drive, beside those of the owner. */
	readonly observe: Audience;
	readonly drive: Audience;
}

/** Sharing of a process that was started without a word about it. */
export const UNSHARED: ProcessSharing = {name: undefined, labels: {}, observe: 'owner', drive: 'owner'};

/** Throws `NAME_INVALID` for a name that cannot be told from an option or another word on a command line. */
export function requireName(name: string): string {
	if (NAME.test(name)) return name;
	throw invalidName('name', name);
}

export function requireLabels(labels: Labels): Labels {
	const entries = Object.entries(labels);
	if (entries.length > MAX_LABELS) {
		throw new LongarmError('NAME_INVALID', {
			message: `a process has at most ${MAX_LABELS} labels`,
			context: {limit: MAX_LABELS},
		});
	}
	for (const [key, value] of entries) {
		if (!NAME.test(key)) throw invalidName('label', key);
		if (value.length > MAX_LABEL_VALUE_CHARS || /\p{Cc}/u.test(value)) throw invalidName('value of the label', key);
	}
	return labels;
}

/** True if the process has all of these labels. */
export function hasLabels({labels}: ProcessSharing, wanted: Labels): boolean {
	return Object.entries(wanted).every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value);
}

function invalidName(what: string, text: string): LongarmError {
	const shown = JSON.stringify(text.slice(0, MAX_NAME_CHARS));
	return new LongarmError('NAME_INVALID', {message: `the ${what} ${shown} cannot be used`});
}
