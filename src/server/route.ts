import type {Request} from '../protocol/envelope.js';
import {INVALID_REQUEST, RpcError} from '../protocol/error-codes.js';
import type {Family} from '../protocol/methods.js';
import {createRouter} from '../rpc/router.js';
import type {Sandbox} from '../sandbox/sandbox.js';
import {requireScope} from './auth/grant.js';
import type {ClientConnection} from './client-connection.js';
import {describeEnvironment} from './environment-info.js';
import {createHandlers} from './handlers/index.js';
import {strictV0Handlers} from './handlers/v0.js';
import type {ServerSettings} from './options.js';
import type {ServerMetrics} from './server-metrics.js';
import {toWire} from './wire-errors.js';

export type Route = (request: Request, client: ClientConnection) => unknown;

/** From a request to its answer: the handlers of the protocol, errors in the words of the wire, everything measured. */
export function createRoute(settings: ServerSettings, sandbox: Sandbox, metrics: ServerMetrics): Route {
	const {protocol, variables, allowForward, ownCommand} = settings;
	const sandboxesFiles = (): boolean => ownCommand.length > 0 && sandbox.isLikely;
	const route =
		protocol === 'v0'
			? onlyV0(createRouter(strictV0Handlers, admit))
			: createRouter(createHandlers(describeEnvironment(variables, allowForward, sandboxesFiles), variables), admit);
	return (request, client) => {
		const began = performance.now();
		const record = (result: 'success' | 'error'): void =>
			metrics.answered(request.method, result, performance.now() - began);
		try {
			const result = route(request, client);
			if (result instanceof Promise) return settled(result, record);
			record('success');
			return result;
		} catch (error) {
			record('error');
			throw toWire(error);
		}
	};
}

async function settled(result: Promise<unknown>, record: (result: 'success' | 'error') => void): Promise<unknown> {
	try {
		const value = await result;
		record('success');
		return value;
	} catch (error) {
		record('error');
		throw toWire(error);
	}
}

function admit(family: Family, client: ClientConnection, method: string): void {
	client.admit(family);
	requireScope(client.grant, method);
}

/** The first protocol does not know the others' methods, however well they are called. */
function onlyV0(route: Route): Route {
	return (request, client) => {
		if (Object.hasOwn(strictV0Handlers, request.method)) return route(request, client);
		throw new RpcError(INVALID_REQUEST, `unknown method: ${request.method}`);
	};
}
