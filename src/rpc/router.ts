import {decode} from '../protocol/decode.js';
import type {JsonParts} from '../protocol/encode.js';
import type {Request} from '../protocol/envelope.js';
import {METHOD_NOT_FOUND, RpcError} from '../protocol/error-codes.js';
import {declarationOf, type Family, type Params, type RequestName, type ResultOnWire} from '../protocol/methods.js';

type Awaitable<T> = T | Promise<T>;

/** Translates names and errors between the wire and the domain, nothing else. */
export type Handler<M extends RequestName, Context> = (
	params: Params<M>,
	context: Context,
	request: Request,
) => Awaitable<ResultOnWire<M> | JsonParts>;

export type Handlers<Context> = {readonly [M in RequestName]?: Handler<M, Context>};

/**
 * Routes a request by the table of methods: decode the params, let `admit` look at the caller, run the handler.
 * In this order, so that bad params are reported whatever the state of the handshake.
 */
export function createRouter<Context>(
	handlers: Handlers<Context>,
	admit: (family: Family, context: Context, method: string) => void,
) {
	return (request: Request, context: Context): unknown => {
		const declaration = declarationOf(request.method);
		if (declaration?.kind !== 'request' || declaration.from !== 'client') throw unknownMethod(request.method);
		const params = decode(declaration.params, request.params ?? null);
		if (declaration.family !== 'handshake') admit(declaration.family, context, request.method);
		const handler = handlers[request.method as RequestName] as
			| ((decoded: unknown, caller: Context, asked: Request) => unknown)
			| undefined;
		if (!handler) throw unknownMethod(request.method);
		return handler(params, context, request);
	};
}

function unknownMethod(method: string): RpcError {
	return new RpcError(METHOD_NOT_FOUND, `exec-server stub does not implement \`${method}\` yet`);
}
