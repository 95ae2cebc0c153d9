import {writeSync} from 'node:fs';
import {hostname} from 'node:os';
import type {ConsoleSessionRecord} from '../../../console/server/console-logins.js';
import type {Grant} from '../../../server/auth/grant.js';
import type {ExecServer} from '../../../server/server.js';
import {Deferred} from '../../../shared/async/deferred.js';
import type {Logger} from '../../../shared/logger.js';
import {
	LISTEN_FORMS,
	type ListenAddress,
	listenSchemeOf,
	parseListenAddress as parse,
} from '../../../transports/node/registry.js';
import type {EndpointOptions} from '../../../transports/node/transport-scheme.js';
import type {Transport} from '../../../transports/transport.js';
import type {AuditLog} from './audit-log.js';
import {doesOfferDaemon, handOver} from './daemon-handover.js';
import {reloadSecurity, type Security} from './security.js';
import type {ServeConsole} from './serve-console.js';
import {invalidSetting, type Settings} from './serve-settings.js';

const STDOUT = 1;
const ROOT = 0;
const ANY_ADDRESS = /^(?:0\.0\.0\.0|\[::\])$/;
/** Loopback, any free port. */
const DEFAULT_ADDRESS: ListenAddress = {kind: 'websocket', tls: false, host: '127.0.0.1', port: 0};

/** The server's listener. */
export interface ServeEndpoint {
	/** Settles with the reason when no client can come any more. */
	readonly over: Promise<string>;
	/** Settles with true if the only client uses the local daemon instead of this server. */
	readonly isHandedOver: Promise<boolean>;
	/** Reads secrets and certificates again, and opens the audit log again. */
	reload(): void;
	/** Descriptor of the socket that listens; undefined where there is none. */
	readonly fd: number | undefined;
	/** Browsers that are logged in to the console; undefined without one. */
	readonly console?: ServeConsole | undefined;
	close(): Promise<void>;
}

export interface ServeEndpointOptions {
	readonly settings: Settings;
	readonly security: Security;
	/** Loaded while the first clients are on their way. */
	readonly server: Promise<ExecServer>;
	readonly logger: Logger;
	readonly audit: AuditLog | undefined;
	/** Descriptor of the listening socket of the program that this one has taken the place of. */
	readonly listeningFd?: number | undefined;
	/** Browsers that were logged in to the console of that program. */
	readonly consoleSessions?: readonly ConsoleSessionRecord[] | undefined;
}

/** `ws://IP:PORT`, `wss://IP:PORT`, `unix:/PATH`, `stdio`, `stdio://` or `auto`. */
export function parseListenSetting(text: string, protocol: 'all' | 'v0' = 'all'): ListenAddress {
	if (text === 'auto') return protocol === 'v0' ? {kind: 'stdio'} : DEFAULT_ADDRESS;
	const address = parse(text);
	if (address) return address;
	const forms = LISTEN_FORMS.map(form => `\`${form}\``).join(' or ');
	throw invalidSetting(`unsupported --listen URL \`${text}\`; expected ${forms}`);
}

export async function openServeEndpoint(address: ListenAddress, options: ServeEndpointOptions): Promise<ServeEndpoint> {
	const {settings, security, logger, audit, listeningFd, server} = options;
	const {authenticator} = security;
	const scheme = listenSchemeOf(address);
	const over = new Deferred<string>();
	const clientLeft = (): void => {
		if (scheme.startsServer) over.resolve('end of input');
	};
	const isHandedOver = new Deferred<boolean>();
	const inspect = async (transport: Transport): Promise<Transport | undefined> => {
		const left = await handOver(transport, clientLeft);
		isHandedOver.resolve(left === undefined);
		return left;
	};
	const offersDaemon = doesOfferDaemon(settings);
	if (!offersDaemon) isHandedOver.resolve(false);
	const endpointOptions = {...toEndpointOptions(options, clientLeft), ...(offersDaemon && {inspect})};
	const console = settings.console ? await openConsole(address, options, endpointOptions) : undefined;
	const endpoint = await scheme.listen(address, {...endpointOptions, site: console?.site});
	const {url} = endpoint;
	const announce = (): void => {
		if (url === undefined || listeningFd !== undefined) return;
		if (settings.protocol === 'v0') process.stderr.write(`codex-exec-server listening on ${url}\n`);
		else print(`${url}\n${console ? `${console.linkFor(url)}\n` : ''}`);
		logger.info('listening', {url, pid: process.pid});
		if (security.fingerprint !== undefined) tellFingerprint(url, security, logger);
	};
	// A state directory that was asked for is opened before the address is printed: the server ends if that fails.
	if (settings.state === undefined) announce();
	else void options.server.then(announce, () => {});
	if (security.authenticator && scheme.isReadableByOthers(address)) {
		logger.warn('tokens travel in clear: anybody between a client and this server can read them', {url});
	}
	if (!security.authenticator && scheme.isOpenToOtherUsers(address) && process.geteuid?.() === ROOT) {
		logger.warn('this server runs as root and asks for no token: its clients can do anything to this machine', {url});
	}
	return {
		over: over.promise,
		isHandedOver: isHandedOver.promise,
		get fd() {
			return endpoint.fd;
		},
		console,
		reload: () => {
			reloadSecurity(security, endpoint, logger, audit?.reopen);
			if (authenticator) void server.then(loaded => loaded.recheckShares(grant => authenticator.isGood(grant)));
			void console?.site.recheck();
		},
		close: () => endpoint.close(),
	};
}

/** The console is loaded when it is asked for. Browsers cannot reach sockets of the file system. */
async function openConsole(
	address: ListenAddress,
	{security, server, audit, consoleSessions = []}: ServeEndpointOptions,
	{accept}: EndpointOptions<Grant | undefined>,
): Promise<ServeConsole> {
	if (address.kind !== 'websocket') throw invalidSetting('--console needs --listen ws://IP:PORT or wss://IP:PORT');
	const {createServeConsole} = await import('./serve-console.js');
	let current: ExecServer | undefined;
	const load = async (): Promise<void> => {
		current = await server;
	};
	void load();
	return createServeConsole({
		authenticator: security.authenticator,
		isSecure: security.readIdentity !== undefined,
		server: () => current,
		accept,
		onRefused: (from, port, reason) =>
			audit?.write('not let in', {from, port, path: '/console/login', status: 401, reason}),
		inherited: consoleSessions,
	});
}

/** In place of a listener, for a server that is reached through hubs only. */
export function openNoEndpoint(security: Security, logger: Logger, audit: AuditLog | undefined): ServeEndpoint {
	return {
		over: new Promise(() => {}),
		isHandedOver: Promise.resolve(false),
		fd: undefined,
		reload: () => reloadSecurity(security, {renew: () => {}}, logger, audit?.reopen),
		close: () => Promise.resolve(),
	};
}

function toEndpointOptions(options: ServeEndpointOptions, clientLeft: () => void): EndpointOptions<Grant | undefined> {
	const {settings, security, server, audit, logger, listeningFd} = options;
	const {authenticator, readIdentity} = security;
	// No client is accepted before the listener is ready, and that is when it is here.
	let current: ExecServer | undefined;
	const load = async (): Promise<void> => {
		current = await server;
	};
	void load();
	return {
		ready: server,
		...(listeningFd !== undefined && {listeningFd}),
		dangerouslyAllowNetwork: settings['dangerously-allow-unauthenticated-network'],
		maxConnections: settings['max-connections'],
		isOpen: () => current?.isDraining !== true,
		allowOrigins: settings['allow-origin'],
		allowHosts: settings['allow-host'],
		// There are no sandboxes before there is a server.
		refuseLocalPeer: peer => current?.refuseLocalPeer(peer, {hasToken: authenticator !== undefined}),
		peerTimes: {
			pingIntervalMs: settings['ping-interval'],
			peerTimeoutMs: settings['peer-timeout'],
			stoppedPeerMs: settings['stopped-peer'],
		},
		onStoppedPeer: peer => logger.info('client does not read, its machine answers; its session can be resumed', {peer}),
		// Read by fail2ban: docs/operations.md has the expression.
		onRefused: refused => audit?.write('not let in', {...refused}),
		pages: {
			'/healthz': async () => ({type: 'application/json', body: `${JSON.stringify((await server).health())}\n`}),
			'/metrics': async () => ({type: 'text/plain; version=0.0.4; charset=utf-8', body: (await server).metrics()}),
		},
		...(readIdentity && {tls: readIdentity()}),
		...(authenticator && {
			authorize: ({authorization}) => authenticator.authenticate(authorization, token => current?.findShare(token)),
			mayReadPages: grant => authenticator.mayObserve(grant),
			hasRoom: grant => grant === undefined || current!.hasRoom(grant),
		}),
		accept: (transport, grant, user) => void current!.accept(transport, grant, user).lifetime.add(clientLeft),
	};
}

/** Tells the command by which the other side accepts a certificate that nobody vouches for. */
function tellFingerprint(url: string, {fingerprint, authenticator}: Security, logger: Logger): void {
	const there = new URL(url);
	if (ANY_ADDRESS.test(there.hostname)) there.hostname = hostname();
	const token = authenticator ? ' --token-file FILE' : '';
	const client = `longarm env add NAME ${there.protocol}//${there.host}${token} --tls-fingerprint ${fingerprint}`;
	logger.info('self-signed certificate', {fingerprint, client});
}

/** One line on stdout, at once: a stream is made only where it has to wait. The reader may have left. */
function print(line: string): void {
	try {
		writeSync(STDOUT, line);
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return;
		process.stdout.on('error', () => {});
		process.stdout.write(line);
	}
}
