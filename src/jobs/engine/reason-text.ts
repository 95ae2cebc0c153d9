import {truncateText} from '../../protocol/wire/strict-json.js';

/** Characters of the reason of a failure that are kept: machines and programs supply it. */
export const MAX_REASON_CHARS = 2000;

/** A reason as it is kept with a job, and told. */
export function toReason(text: string): string {
	return text.length <= MAX_REASON_CHARS ? text : `${truncateText(text, MAX_REASON_CHARS)}...`;
}
