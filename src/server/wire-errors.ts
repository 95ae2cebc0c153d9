import {INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, RpcError} from '../protocol/error-codes.js';
import {type ErrorCode, LongarmError} from '../shared/errors.js';

/** How each failure travels. */
const WIRE_CODES: Record<ErrorCode, number> = {
	PROCESS_EXISTS: INVALID_REQUEST,
	PROCESS_UNKNOWN: INVALID_REQUEST,
	START_CANCELLED: INVALID_REQUEST,
	SPAWN_FAILED: INTERNAL_ERROR,
	RESOURCES_EXHAUSTED: INTERNAL_ERROR,
	STDIN_FAILED: INTERNAL_ERROR,
	STDIN_BACKLOG_FULL: INTERNAL_ERROR,
	NOT_SUPPORTED: INVALID_PARAMS,
	PROCESS_LIMIT: INTERNAL_ERROR,
	EXEC_REFUSED: INVALID_REQUEST,
	NO_TERMINAL: INVALID_REQUEST,
	SIGNAL_UNKNOWN: INVALID_PARAMS,
	SETTING_INVALID: INTERNAL_ERROR,
	LISTEN_REFUSED: INTERNAL_ERROR,
	SHUTTING_DOWN: INTERNAL_ERROR,
};

/** Failures the peer's own servers do not know carry their code, context and hint along; clients may ignore them. */
const EXPLAINED: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
	'RESOURCES_EXHAUSTED',
	'STDIN_BACKLOG_FULL',
	'PROCESS_LIMIT',
	'EXEC_REFUSED',
	'NO_TERMINAL',
	'SIGNAL_UNKNOWN',
	'SHUTTING_DOWN',
]);

export function toWire(error: unknown): unknown {
	if (!(error instanceof LongarmError)) return error;
	const {code, message, context, hint} = error;
	return new RpcError(WIRE_CODES[code], message, EXPLAINED.has(code) ? {code, context, hint} : undefined);
}
