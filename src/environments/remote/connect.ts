import {LazyClient} from '../../client/session/lazy-client.js';
import type {Connect} from '../../client/session/session-client.js';
import {errorMessage} from '../../shared/errors.js';
import {schemeOf} from '../../transports/node/registry.js';
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
	return target.kind !== 'transport' && target.kind !== 'provisioned' && !schemeOf(target).startsServer;
}

/** Whether the server outlives a connection. */
function canReconnect(target: RemoteTarget): boolean {
	switch (target.kind) {
		case 'transport':
			return target.recovers !== false;
		case 'provisioned':
			return true;
		default:
			return !schemeOf(target).startsServer;
	}
}

function connectTo(target: RemoteTarget): Connect {
	switch (target.kind) {
		case 'transport':
			return target.connect;
		case 'provisioned':
			return async signal => connectTo(await waitForTarget(target.target))(signal);
		default:
			return signal => schemeOf(target).connect(target, signal);
	}
}

async function waitForTarget(target: Promise<RemoteTarget>): Promise<RemoteTarget> {
	try {
		return await target;
	} catch (cause) {
		throw new Error(`environment unavailable: ${errorMessage(cause)}`, {cause});
	}
}
