import {LazyClient} from '../../client/session/lazy-client.js';
import type {Connect} from '../../client/session/session-client.js';
import {errorMessage} from '../../shared/errors.js';
import {isTransportTarget, schemeOf} from '../../transports/node/registry.js';
import type {RemoteTarget} from './remote-target.js';

/** A client for the target that connects when it is needed. */
export function lazyClientFor(target: RemoteTarget): LazyClient {
	const {initializeTimeoutMs} = target;
	const recovers = canReconnect(target);
	return new LazyClient(connectTo(target), {
		recovers,
		reconnects: recovers,
		...(initializeTimeoutMs !== undefined && {initializeTimeoutMs}),
	});
}

/** Whether connecting costs nothing but a socket; a command would be started for nothing. */
export function mayWarmUp(target: RemoteTarget): boolean {
	return isTransportTarget(target) && !schemeOf(target).startsServer;
}

/** Whether the server outlives a connection. */
function canReconnect(target: RemoteTarget): boolean {
	if (isTransportTarget(target)) return !schemeOf(target).startsServer;
	return target.kind === 'provisioned' || target.recovers !== false;
}

function connectTo(target: RemoteTarget): Connect {
	if (isTransportTarget(target)) return signal => schemeOf(target).connect(target, signal);
	if (target.kind === 'transport') return target.connect;
	return async signal => connectTo(await waitForTarget(target.target))(signal);
}

async function waitForTarget(target: Promise<RemoteTarget>): Promise<RemoteTarget> {
	try {
		return await target;
	} catch (cause) {
		throw new Error(`environment unavailable: ${errorMessage(cause)}`, {cause});
	}
}
