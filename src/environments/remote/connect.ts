import {LazyClient} from '../../client/session/lazy-client.js';
import type {Connect} from '../../client/session/session-client.js';
import type {RemoteTarget} from './remote-target.js';

/** A client for the target that connects when it is needed. */
export function lazyClientFor(target: RemoteTarget): LazyClient {
	const {initializeTimeoutMs} = target;
	const endsWithSession = target.kind === 'command' || (target.kind === 'transport' && target.recovers === false);
	return new LazyClient(connectTo(target), {
		recovers: !endsWithSession,
		reconnects: !endsWithSession,
		...(initializeTimeoutMs !== undefined && {initializeTimeoutMs}),
	});
}

/** Whether connecting costs nothing but a socket; a command would be started for nothing. */
export function mayWarmUp({kind}: RemoteTarget): boolean {
	return kind === 'websocket';
}

/** A way is loaded when it is taken. */
function connectTo(target: RemoteTarget): Connect {
	switch (target.kind) {
		case 'transport':
			return target.connect;
		case 'command':
			return async () => {
				const {connectCommand} = await import('../../transports/node/connect-command.js');
				return connectCommand(target.program, target);
			};
		case 'websocket': {
			const {url, token, tls, connectTimeoutMs: timeoutMs} = target;
			return async signal => {
				const {connectWebSocket} = await import('../../transports/node/connect-web-socket.js');
				return connectWebSocket(url, {token, tls, timeoutMs, signal});
			};
		}
		case 'provisioned':
			return async signal => connectTo(await whenProvisioned(target.target))(signal);
	}
}

async function whenProvisioned(target: Promise<RemoteTarget>): Promise<RemoteTarget> {
	try {
		return await target;
	} catch (cause) {
		const reason = cause instanceof Error ? cause.message : String(cause);
		throw new Error(`environment unavailable: ${reason}`, {cause});
	}
}
