import {INVALID_PARAMS, RpcError} from '../protocol/wire/error-codes.js';
import {LongarmError} from '../shared/errors.js';

/** A policy, or a part of one, that would not really be enforced here. */
export function unenforceable(why: string): LongarmError {
	return new LongarmError('NOT_SUPPORTED', {message: `sandbox intent cannot be enforced on this executor: ${why}`});
}

/** A policy that does not say what it is about. */
export function incomplete(message: string): RpcError {
	return new RpcError(INVALID_PARAMS, message);
}
