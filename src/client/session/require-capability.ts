import {LongarmError} from '../../shared/errors.js';

/** Throws a `LongarmError` with the name of a capability that the server does not announce. */
export function requireCapability(
	capabilities: Readonly<Record<string, boolean>> | null | undefined,
	capability: string,
	what: string,
): void {
	if (capabilities?.[capability] === true) return;
	const message = `this executor has no ${what} (${capability})`;
	throw new LongarmError('NOT_SUPPORTED', {message, context: {capability}});
}
