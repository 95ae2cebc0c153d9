/** Values of `error.code` on the wire. */
export const INVALID_REQUEST = -32600;
/** There is no such method. */
export const METHOD_NOT_FOUND = -32601;
/** The params do not fit the schema of the method. */
export const INVALID_PARAMS = -32602;
/** The request failed for another reason. */
export const INTERNAL_ERROR = -32603;
/** There is no such file or forwarded connection. */
export const NOT_FOUND = -32004;
/** Another connection drives the session. */
export const SESSION_ATTACHED = -32010;

/** An error reply: thrown by a handler to send one, and by a call that received one. */
export class RpcError extends Error {
	override readonly name: string = 'RpcError';
	readonly code: number;
	readonly data: unknown;

	constructor(code: number, message: string, data?: unknown) {
		super(message);
		this.code = code;
		this.data = data;
	}
}
