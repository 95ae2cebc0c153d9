import {RpcError} from '../../protocol/wire/error-codes.js';

/** An error reply of the server. `errorCode`, `context` and `hint` are there if the server sent them. */
export class RejectedError extends RpcError {
	override readonly name = 'RejectedError';
	/** The server's own message. */
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

/** The server violated the protocol. */
export class ProtocolError extends Error {
	override readonly name = 'ProtocolError';

	constructor(reason: string, options?: ErrorOptions) {
		super(`exec-server protocol error: ${reason}`, options);
	}
}

/** The limit of pending calls is reached. */
export class TooManyCallsError extends Error {
	override readonly name = 'TooManyCallsError';
}

/** The server has not answered in time; a retry may succeed. */
export class CallTimeoutError extends Error {
	override readonly name = 'CallTimeoutError';
}
