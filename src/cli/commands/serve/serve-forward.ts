import {TOKEN_VARIABLE} from '../../../environments/config/config-variables.js';
import {connectorFor} from '../../../environments/remote/remote-backend.js';
import {targetFromUrl} from '../../../environments/remote/remote-url.js';
import {Lifetime} from '../../../shared/async/lifetime.js';
import {errorMessage} from '../../../shared/errors.js';
import type {Logger} from '../../../shared/logger.js';
import {joinTransports} from '../../../transports/join-transports.js';
import type {Transport} from '../../../transports/transport.js';
import {createServeLogger} from './serve-logger.js';
import {openRemoteServing, type RemoteAcceptor} from './serve-remote.js';
import {invalidSetting, type Settings} from './serve-settings.js';

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** Connects clients of hubs to another server until a signal or the end of the credential. */
export async function forwardServer(settings: Settings, url: string | undefined): Promise<void> {
	if (url === undefined) throw invalidSetting('--connect is needed: the server that clients of the hub are led to');
	if (settings.remote.length === 0) throw invalidSetting('--remote is needed: the hub that leads clients here');
	const connect = connectorFor(targetFromUrl(url, {token: process.env[TOKEN_VARIABLE]}));
	const level = settings['log-level'];
	const logger = createServeLogger(settings, level === 'auto' ? 'info' : level);
	const acceptor: RemoteAcceptor = {
		accept: transport => {
			const lifetime = new Lifetime();
			void forward(transport, connect, logger, lifetime);
			return {isDriving: false, lifetime};
		},
	};
	const remote = await openRemoteServing(settings, Promise.resolve(acceptor), logger);
	const signal = new Promise<string>(resolve => {
		for (const name of SIGNALS) process.once(name, resolve);
	});
	try {
		logger.info('shutting down', {reason: await Promise.race([signal, remote.over])});
	} finally {
		remote.close();
	}
}

async function forward(
	client: Transport,
	connect: () => Promise<Transport>,
	logger: Logger,
	lifetime: Lifetime,
): Promise<void> {
	try {
		const server = await connect();
		joinTransports(client, server, () => lifetime.close());
	} catch (error) {
		logger.warn('the server cannot be reached', {reason: errorMessage(error)});
		client.destroy();
		lifetime.close();
	}
}
