import {RpcError} from '../../protocol/wire/error-codes.js';

/** The server refused a request. Where it says more than a number, `errorCode`, `context` and `hint` have it. */
export class RejectedError extends RpcError {
	override readonly name = 'RejectedError';
	/** The server's own words. */
	readonly reason: string;
	/** One of longarm's codes, see docs/errors.md. */
	readonly errorCode: string | undefined;
	readonly context: Readonly<Record<string, unknown>>;
	readonly hint: string | undefined;

	constructor({code, message, data}: RpcError) {
		super(code, `exec-server rejected request (${code}): ${message}`, data);
		this.reason = message;
		const {code: errorCode, context, hint} = (data ?? {}) as {code?: unknown; context?: unknown; hint?: unknown};
		this.errorCode = typeof errorCode === 'string' ? errorCode : undefined;
		this.context = typeof context === 'object' && context !== null ? {...context} : {};
		this.hint = typeof hint === 'string' ? hint : undefined;
	}
}

/** The server said what no server should. */
export class ProtocolError extends Error {
	override readonly name = 'ProtocolError';

	constructor(reason: string, options?: ErrorOptions) {
		super(`exec-server protocol error: ${reason}`, options);
	}
}

/** So many calls are waiting for an answer that another one would not help. */
export class TooManyCallsError extends Error {
	override readonly name = 'TooManyCallsError';
}

/** The server has not answered in time; it may another time. */
export class CallTimeoutError extends Error {
	override readonly name = 'CallTimeoutError';
}
