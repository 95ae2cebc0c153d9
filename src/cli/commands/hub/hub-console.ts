import {X509Certificate} from 'node:crypto';
import {ConsoleLogins} from '../../../console/server/console-logins.js';
import {type ConsoleAdmission, ConsoleSite} from '../../../console/server/console-site.js';
import {loadPageFiles} from '../../../console/server/page-files.js';
import {connectorFor} from '../../../environments/remote/remote-backend.js';
import type {Hub} from '../../../hub/hub.js';
import {errorMessage} from '../../../shared/errors.js';
import type {Logger} from '../../../shared/logger.js';
import {joinTransports} from '../../../transports/join-transports.js';
import {formatFingerprint} from '../../../transports/node/fingerprint.js';
import type {TlsIdentity} from '../../../transports/node/tls-server.js';

/** Time to reach a machine, so that the browser learns in time that it cannot be. */
const CONNECT_MS = 15_000;
/** How often tokens are looked at; browsers of a revoked one are logged out then. */
const RECHECK_MS = 2000;

export interface HubConsoleOptions {
	readonly hub: () => Hub;
	/** Address by which this program reaches the hub itself. */
	readonly url: () => string;
	/** The certificate there, which is the hub's own; undefined without TLS, or for the address of a proxy. */
	readonly identity: (() => TlsIdentity | undefined) | undefined;
	readonly isSecure: boolean;
	readonly logger: Logger;
}

/**
 * The console of a hub, for those who have a client's token: the machines it is good for. To these the hub is a client
 * with that same token, so that every check of a client applies, and a token that is revoked ends the connection.
 */
export function createHubConsole(options: HubConsoleOptions): ConsoleSite {
	const {isSecure, logger} = options;
	const site = new ConsoleSite({
		files: loadPageFiles(),
		logins: new ConsoleLogins(),
		machines: [],
		isSecure,
		admit: async login => (login.kind === 'token' ? admitToken(login.token, options) : NO_LINKS),
		onRefused: ({socket}, reason) => logger.warn('refused', {reason, what: 'console', address: socket.remoteAddress}),
	});
	setInterval(() => void site.recheck(), RECHECK_MS).unref();
	return site;
}

const NO_LINKS: ConsoleAdmission = {kind: 'refused', text: 'the console of a hub asks for a token of a client'};

async function admitToken(token: string, options: HubConsoleOptions): Promise<ConsoleAdmission> {
	const hub = options.hub();
	const record = await hub.tokens.find(token, 'client');
	if (!record) return {kind: 'refused', text: 'the token is unknown, or not one of a client'};
	const environments = await hub.environmentsOf(record);
	return {
		kind: 'pass',
		machines: environments.map(({id}) => ({id, name: id})),
		hasRoom: true,
		connect: async id => {
			try {
				const machine = await connectorFor(targetOf(id, token, options))(AbortSignal.timeout(CONNECT_MS));
				return {accept: browser => joinTransports(browser, machine), withdraw: () => machine.destroy()};
			} catch (error) {
				options.logger.info('a machine cannot be reached', {environment: id, error: errorMessage(error)});
				throw error;
			}
		},
	};
}

/** The hub vouches for the keys of its machines: this is the hub itself. */
function targetOf(id: string, token: string, {url, identity}: HubConsoleOptions): Parameters<typeof connectorFor>[0] {
	const cert = identity?.()?.cert;
	const tls =
		cert === undefined ? undefined : {fingerprint: formatFingerprint(new X509Certificate(cert).fingerprint256)};
	return {kind: 'registry', url: `registry+${url()}/${id}`, token, executorKey: 'any', ...(tls && {tls})};
}
