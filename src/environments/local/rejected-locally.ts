import {toWireError} from '../../adapters/wire-errors.js';
import {RejectedError} from '../../client/session/client-errors.js';
import {RpcError} from '../../protocol/wire/error-codes.js';

/** A failure as it would look had it come from a server, so that callers need to know one kind only. */
export function toRejectedError(error: unknown): unknown {
	const answer = toWireError(error);
	return answer instanceof RpcError ? new RejectedError(answer) : answer;
}
