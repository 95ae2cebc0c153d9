/** Values of `error.code` on the wire. */
export const INVALID_REQUEST = -32600;
export const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;
export const INTERNAL_ERROR = -32603;
export const NOT_FOUND = -32004;
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
