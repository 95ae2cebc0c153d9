import {errorMessage} from '../../../shared/errors.js';
import {usageError} from '../../exit-codes.js';

/** Throws for an expression that cannot be read. */
export function parseRegex(flag: string, text: string): RegExp {
	try {
		return new RegExp(text);
	} catch (error) {
		throw usageError(`${flag} ${text}: ${errorMessage(error)}`, error);
	}
}

export function parseWholeNumber(flag: string, text: string, max = Number.MAX_SAFE_INTEGER): number {
	const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
	if (!(value <= max)) throw usageError(`${flag} ${text}: expected a whole number`);
	return value;
}
