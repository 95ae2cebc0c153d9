import {describeEnvironment} from '../../adapters/environment-info.js';
import {toWireError} from '../../adapters/wire-errors.js';
import type {Declaration} from '../../protocol/methods/declare-method.js';
import {
	type Family,
	findDeclaration,
	type Params,
	type RequestName,
	type ResultOnWire,
	type ServedName,
} from '../../protocol/methods/method-table.js';
import {decode} from '../../protocol/wire/decode.js';
import type {JsonParts} from '../../protocol/wire/encode.js';
import type {Request} from '../../protocol/wire/envelope.js';
import {INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, RpcError} from '../../protocol/wire/error-codes.js';
import type {Schema} from '../../protocol/wire/fields.js';
import type {Sandbox} from '../../sandbox/sandbox.js';
import {noteRequest} from '../../shared/recent-requests.js';
import type {AuditedCall, ClientAudit} from '../audit.js';
import {requireScope} from '../auth/grant.js';
import {createHandlers} from '../handlers/all-handlers.js';
import {strictV0Handlers} from '../handlers/v0-handlers.js';
import {withKeeperMethods} from '../keeper/keeper-handlers.js';
import type {KeeperRole} from '../keeper/keeper-role.js';
import type {Keepers} from '../keeper/keepers.js';
import type {ServerSettings} from '../options.js';
import type {ServerMetrics} from '../server-metrics.js';
import type {ClientConnection} from './client-connection.js';

/** Handles a request of a client; `length` is that of its message. */
export type Dispatch = (request: Request, client: ClientConnection, length: number) => unknown;
type Route = (request: Request, client: ClientConnection) => unknown;

export interface DispatchOptions {
	readonly sandbox: Sandbox;
	readonly metrics: ServerMetrics;
	readonly keepers: Keepers;
	/** Set in a keeper, which answers more requests. */
	readonly keeperRole: KeeperRole | undefined;
}

/** Creates the request dispatcher: routes to the handlers, converts errors to wire errors, records metrics. */
export function createDispatch(
	settings: ServerSettings,
	{sandbox, metrics, keepers, keeperRole}: DispatchOptions,
): Dispatch {
	const {protocol, variables, allowForward, ownCommand} = settings;
	const abilities = {
		forwardsPorts: allowForward !== 'none',
		sandboxesFiles: () => ownCommand.length > 0 && sandbox.isLikelyAvailable,
		keepsOutput: settings.stateDirectory !== undefined,
		keepsProcesses: () => keepers.isLikelyAvailable,
		offersDaemon: settings.offersDaemon,
		servesConsole: settings.servesConsole,
	};
	const routePublic =
		protocol === 'v0'
			? restrictToV0(createRouter(strictV0Handlers, requireFamilyHandshake, authorizeCall))
			: createRouter(
					createHandlers(describeEnvironment(variables, abilities), variables),
					requireFamilyHandshake,
					authorizeCall,
				);
	const route = keeperRole ? withKeeperMethods(routePublic, keeperRole) : routePublic;
	return (request, client, length) => {
		const {method} = request;
		const startedAt = performance.now();
		// The reader of a flood acknowledges it all the time, and waits for nothing else.
		if (method !== 'process/acknowledge') noteRequest(startedAt);
		const audited = client.audit?.describeCall(method, request.params);
		try {
			const result = client.pending.run(request, length, () => route(request, client));
			if (result instanceof Promise) {
				return recordOutcome(result, {metrics, method, startedAt, audit: client.audit, audited});
			}
			metrics.recordRequest(method, 'success', performance.now() - startedAt);
			return result;
		} catch (error) {
			recordFailure({metrics, method, startedAt, audit: client.audit, audited}, error);
			throw toWireError(error);
		}
	};
}

/** A call that is under way. Holds the method and not the request, whose params would be retained until it is answered. */
interface RecordedCall {
	readonly metrics: ServerMetrics;
	readonly method: string;
	readonly startedAt: number;
	readonly audit: ClientAudit | undefined;
	readonly audited: AuditedCall | undefined;
}

function recordFailure({metrics, method, startedAt, audit, audited}: RecordedCall, error: unknown): void {
	metrics.recordRequest(method, 'error', performance.now() - startedAt);
	if (audited) audit?.failed(audited, error);
}

async function recordOutcome(result: Promise<unknown>, call: RecordedCall): Promise<unknown> {
	try {
		const value = await result;
		call.metrics.recordRequest(call.method, 'success', performance.now() - call.startedAt);
		return value;
	} catch (error) {
		recordFailure(call, error);
		throw toWireError(error);
	}
}

/** Before the handshake is over the params come first, as upstream has it: nothing is done for such a caller anyway. */
function authorizeCall(client: ClientConnection, method: string): void {
	if (client.isReady) requireScope(client.grant, method);
}

function requireFamilyHandshake(family: Family, client: ClientConnection): void {
	client.requireHandshake(family);
}

/** A strict server of the first protocol has none of the later methods. */
function restrictToV0(route: Route): Route {
	return (request, client) => {
		if (Object.hasOwn(strictV0Handlers, request.method)) return route(request, client);
		throw new RpcError(INVALID_REQUEST, `unknown method: ${request.method}`);
	};
}

type Awaitable<T> = T | Promise<T>;

/** Handles one request: translates names and errors between the wire and the domain, nothing else. */
export type Handler<M extends RequestName, Context> = (
	params: Params<M>,
	context: Context,
	request: Request,
) => Awaitable<ResultOnWire<M> | JsonParts>;

/** Handlers of some requests. */
export type Handlers<Context> = {readonly [M in RequestName]?: Handler<M, Context>};

/** A handler for every request that is served: one that is missing does not compile. */
export type AllHandlers<Context> = {readonly [M in ServedName]: Handler<M, Context>};

/**
 * Routes a request by the table of methods: let `authorize` look at the caller, decode the params, let `admit` look at the
 * state of the handshake, run the handler. In this order, so that a caller without the right has nothing decoded, and bad
 * params are reported whatever the state of the handshake.
 */
export function createRouter<Context>(
	handlers: Handlers<Context>,
	admit: (family: Family, context: Context, method: string) => void,
	authorize: (context: Context, method: string) => void = () => {},
) {
	// Looked up once per method: names in requests are new strings, which a map finds sooner than an object does.
	const routes = new Map<string, DeclaredRoute<Context>>();
	return (request: Request, context: Context): unknown => {
		const {method} = request;
		let route = routes.get(method);
		if (!route) {
			route = findRoute(handlers, method);
			routes.set(method, route);
		}
		const {declaration, handler} = route;
		authorize(context, method);
		const params = decode(declaration.params, request.params ?? null);
		if (declaration.family !== 'handshake') admit(declaration.family, context, method);
		if (!handler) throw unknownMethodError(method);
		refuseUnknownSandbox(declaration.params, request);
		return handler(params, context, request);
	};
}

interface DeclaredRoute<Context> {
	readonly declaration: Declaration;
	/** Undefined for a method that is declared but not served here. */
	readonly handler: ((params: unknown, context: Context, request: Request) => unknown) | undefined;
}

/** Throws for a method that clients cannot call, which bounds the number of routes. */
function findRoute<Context>(handlers: Handlers<Context>, method: string): DeclaredRoute<Context> {
	const declaration = findDeclaration(method);
	if (declaration?.kind !== 'request' || declaration.from !== 'client') throw unknownMethodError(method);
	return {declaration, handler: handlers[method as RequestName] as DeclaredRoute<Context>['handler']};
}

/**
 * A policy is enforced or refused, never dropped: a method that does not declare `sandbox` cannot enforce it. Other members
 * that a method does not know are ignored.
 */
function refuseUnknownSandbox(schema: Schema, {method, params}: Request): void {
	const sandbox = (params as {sandbox?: unknown} | null | undefined)?.sandbox;
	if (sandbox === undefined || sandbox === null) return;
	if (Object.hasOwn((schema as {entries?: object}).entries ?? {}, 'sandbox')) return;
	throw new RpcError(INVALID_PARAMS, `${method} cannot enforce a sandbox: leave \`sandbox\` out`);
}

function unknownMethodError(method: string): RpcError {
	return new RpcError(METHOD_NOT_FOUND, `exec-server stub does not implement \`${method}\` yet`);
}
