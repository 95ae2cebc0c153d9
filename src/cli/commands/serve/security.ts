import {readFileSync, statSync} from 'node:fs';
import type {Authenticator, AuthSource} from '../../../server/auth/authenticator.js';
import {LongarmError} from '../../../shared/errors.js';
import type {Logger} from '../../../shared/logger.js';
import {findSecrecyFault} from '../../../shared/node/private-file.js';
import {type ListenAddress, listenSchemeOf} from '../../../transports/node/registry.js';
import type {TlsIdentity} from '../../../transports/node/tls-server.js';
import type {Endpoint} from '../../../transports/node/transport-scheme.js';
import {readAuthSource} from './auth-settings.js';
import type {KeptIdentity} from './self-signed-identity.js';
import {selfSignedPath} from './self-signed-path.js';
import {invalidSetting, type Settings} from './serve-settings.js';

/** Authentication and encryption, as the settings say. */
export interface Security {
	/** Undefined without authentication. */
	readonly authenticator: Authenticator | undefined;
	/** Undefined without TLS. */
	readonly readIdentity: (() => TlsIdentity) | undefined;
	/** Fingerprint of a certificate that nobody else has signed; undefined without one. */
	readonly fingerprint: string | undefined;
	/** There are files to read again. */
	readonly reloads: boolean;
}

export async function readSecurity(settings: Settings, address: ListenAddress, logger: Logger): Promise<Security> {
	const source = readAuthSource(settings, address);
	const authenticator = source && (await createAuthenticator(source));
	const files = createTlsReader(settings, address);
	const made = files ? undefined : await makeIdentity(settings, address, logger);
	return {
		authenticator,
		readIdentity: files ?? (made && (() => made)),
		fingerprint: made?.fingerprint,
		reloads: source !== undefined || files !== undefined,
	};
}

/** Loaded when it is needed: most servers are for this machine only and start without the code for tokens. */
async function createAuthenticator(source: AuthSource): Promise<Authenticator> {
	const {Authenticator} = await import('../../../server/auth/authenticator.js');
	return new Authenticator(source);
}

/** Reads all files again, and opens the audit log again; one that cannot be used is reported and its old content kept. */
export function reloadSecurity(
	{authenticator, readIdentity}: Security,
	endpoint: Pick<Endpoint, 'renew'>,
	logger: Logger,
	reopenAuditLog: (() => void) | undefined,
): void {
	const attempt = (what: string, act: () => void): void => {
		try {
			act();
			logger.info('reloaded', {what});
		} catch (error) {
			logger.error('cannot reload, the old one stays', {what, reason: (error as Error).message});
		}
	};
	if (authenticator) attempt('tokens', () => authenticator.reload());
	if (readIdentity) attempt('certificate', () => endpoint.renew(readIdentity()));
	if (reopenAuditLog) attempt('audit log', reopenAuditLog);
}

/** The certificate that is made here; undefined if none was asked for. */
async function makeIdentity(
	settings: Settings,
	address: ListenAddress,
	logger: Logger,
): Promise<KeptIdentity | undefined> {
	if (!settings['tls-self-signed'] || address.kind !== 'websocket') return undefined;
	const {keepSelfSigned} = await import('./self-signed-identity.js');
	const path = selfSignedPath(process.env);
	return keepSelfSigned({path, host: address.host, names: settings['allow-host']}, logger);
}

/** Reads certificate and key, now and whenever they may have changed; undefined without TLS. */
function createTlsReader(settings: Settings, address: ListenAddress): (() => TlsIdentity) | undefined {
	const {'tls-cert': cert, 'tls-key': key} = settings;
	const isSelfSigned = settings['tls-self-signed'];
	if (!listenSchemeOf(address).usesTls(address)) {
		if (isSelfSigned) throw invalidSetting('--tls-self-signed is for --listen wss://IP:PORT only');
		if (cert === undefined && key === undefined) return undefined;
		throw invalidSetting('--tls-cert and --tls-key are for --listen wss://IP:PORT only');
	}
	if (isSelfSigned) {
		if (cert === undefined && key === undefined) return undefined;
		throw invalidSetting('--tls-self-signed takes the place of --tls-cert and --tls-key');
	}
	if (cert === undefined || key === undefined)
		throw invalidSetting('--listen wss://IP:PORT needs --tls-cert and --tls-key, or --tls-self-signed');
	return () => ({cert: readPem(cert), key: readPem(key, findSecrecyFault)});
}

function readPem(path: string, findFault?: typeof findSecrecyFault): Buffer {
	try {
		const fault = findFault?.(statSync(path), path);
		if (fault !== undefined) throw new Error(fault);
		return readFileSync(path);
	} catch (error) {
		throw new LongarmError('TLS_INVALID', {message: `cannot read ${path}: ${(error as Error).message}`});
	}
}
