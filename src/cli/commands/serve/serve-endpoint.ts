import {writeSync} from 'node:fs';
import {setTimeout} from 'node:timers/promises';
import type {Grant} from '../../../server/auth/grant.js';
import type {ExecServer} from '../../../server/server.js';
import type {Logger} from '../../../shared/logger.js';
import {type Listener, type ListenOptions, listen} from '../../../transports/node/listener.js';
import {isLoopback} from '../../../transports/node/loopback.js';
import {ownStdio} from '../../../transports/node/stdio.js';
import type {Transport} from '../../../transports/transport.js';
import type {ListenAddress} from './listen-address.js';
import {reloadSecurity, type Security} from './security.js';
import type {Settings} from './serve-settings.js';

const STDOUT = 1;
/** How long whoever reads our stdout may take for the rest. */
const GOODBYE_MS = 1000;

/** Where clients come in. */
export interface ServeEndpoint {
	/** Settles when nobody can come any more. */
	readonly over: Promise<string>;
	/** Reads secrets and certificates again. */
	reload(): void;
	close(): Promise<void>;
}

export interface ServeEndpointOptions {
	readonly settings: Settings;
	readonly security: Security;
	/** Loaded while the first clients are on their way. */
	readonly server: Promise<ExecServer>;
	readonly logger: Logger;
}

export async function openServeEndpoint(address: ListenAddress, options: ServeEndpointOptions): Promise<ServeEndpoint> {
	const {security, server, logger} = options;
	if (address.kind === 'stdio') {
		const transport = ownStdio();
		return {
			over: untilClosed(server, transport),
			reload: () => {},
			close: () => Promise.race([transport.flushed(), setTimeout(GOODBYE_MS)]),
		};
	}
	const listener = await openListener(address, options);
	if (security.authenticator && !address.tls && !isLoopback(address.host)) {
		logger.warn('tokens travel in clear: anybody between a client and this server can read them', {
			url: listener.url,
		});
	}
	return {
		over: new Promise(() => {}),
		reload: () => reloadSecurity(security, listener, logger),
		close: () => listener.close(),
	};
}

type WebSocketAddress = Extract<ListenAddress, {kind: 'websocket'}>;

async function openListener({host, port}: WebSocketAddress, options: ServeEndpointOptions): Promise<Listener> {
	const {settings, security, server, logger} = options;
	const {authenticator, readIdentity} = security;
	// Nobody is accepted before the listener is ready, and that is when it is here.
	let current: ExecServer | undefined;
	const arriving = async (): Promise<void> => {
		current = await server;
	};
	void arriving();
	const common = {
		host,
		port,
		ready: server,
		dangerouslyAllowNetwork: settings['dangerously-allow-unauthenticated-network'],
		maxConnections: settings['max-connections'],
		allowOrigins: settings['allow-origin'],
		pages: {
			'/healthz': async () => ({type: 'application/json', body: `${JSON.stringify((await server).health())}\n`}),
			'/metrics': async () => ({type: 'text/plain; version=0.0.4; charset=utf-8', body: (await server).metrics()}),
		},
		...(readIdentity && {tls: readIdentity()}),
	} satisfies Partial<ListenOptions>;
	const listener = authenticator
		? await listen<Grant>({
				...common,
				authorize: async ({authorization, peer}) => {
					const verdict = await authenticator.authenticate(authorization);
					if (verdict.kind === 'refused') logger.debug('not let in', {peer, reason: verdict.text});
					return verdict;
				},
				hasRoom: grant => current!.hasRoom(grant),
				accept: (transport, grant) => current!.accept(transport, grant),
			})
		: await listen({...common, accept: transport => current!.accept(transport)});
	if (settings.protocol === 'v0') process.stderr.write(`codex-exec-server listening on ${listener.url}\n`);
	else print(`${listener.url}\n`);
	logger.info('listening', {url: listener.url, pid: process.pid});
	return listener;
}

async function untilClosed(server: Promise<ExecServer>, transport: Transport): Promise<string> {
	const {scope} = (await server).accept(transport);
	return new Promise(resolve => scope.add(() => resolve('end of input')));
}

/** One line on stdout, at once: a stream is made only where it has to wait. Whoever reads may have left. */
function print(line: string): void {
	try {
		writeSync(STDOUT, line);
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return;
		process.stdout.on('error', () => {});
		process.stdout.write(line);
	}
}
