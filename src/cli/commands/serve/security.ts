import type {Authenticator, AuthSource} from '../../../server/auth/authenticator.js';
import type {Logger} from '../../../shared/logger.js';
import type {ListenAddress} from '../../../transports/node/registry.js';
import type {TlsIdentity} from '../../../transports/node/tls-server.js';
import type {Endpoint} from '../../../transports/node/transport-scheme.js';
import {authSourceOf} from './auth-settings.js';
import type {Settings} from './serve-settings.js';
import {tlsReaderOf} from './tls-settings.js';

/** Who is let in and how it is kept secret, as the settings say. */
export interface Security {
	/** Undefined when everybody is let in. */
	readonly authenticator: Authenticator | undefined;
	/** Undefined without TLS. */
	readonly readIdentity: (() => TlsIdentity) | undefined;
	/** There are files to read again. */
	readonly reloads: boolean;
}

export async function readSecurity(settings: Settings, address: ListenAddress): Promise<Security> {
	const source = authSourceOf(settings, address);
	const readIdentity = tlsReaderOf(settings, address);
	return {
		authenticator: source && (await authenticatorOf(source)),
		readIdentity,
		reloads: source !== undefined || readIdentity !== undefined,
	};
}

/** Most servers let everybody in who is on this machine, and start without the code for tokens. */
async function authenticatorOf(source: AuthSource): Promise<Authenticator> {
	const {Authenticator} = await import('../../../server/auth/authenticator.js');
	return new Authenticator(source);
}

/** Reads all files again; what cannot be used is told and the old kept, each by itself. */
export function reloadSecurity({authenticator, readIdentity}: Security, endpoint: Endpoint, logger: Logger): void {
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
}
