import {readFileSync} from 'node:fs';
import {LongarmError} from '../../../shared/errors.js';
import {type ListenAddress, listenSchemeOf} from '../../../transports/node/registry.js';
import type {TlsIdentity} from '../../../transports/node/tls-server.js';
import {invalidSetting, type Settings} from './serve-settings.js';

/** Reads certificate and key, now and whenever they may have changed; undefined without TLS. */
export function tlsReaderOf(settings: Settings, address: ListenAddress): (() => TlsIdentity) | undefined {
	const {'tls-cert': cert, 'tls-key': key} = settings;
	if (!listenSchemeOf(address).usesTls(address)) {
		if (cert === undefined && key === undefined) return undefined;
		throw invalidSetting('--tls-cert and --tls-key are for --listen wss://IP:PORT only');
	}
	if (cert === undefined || key === undefined)
		throw invalidSetting('--listen wss://IP:PORT needs --tls-cert and --tls-key');
	return () => ({cert: read(cert), key: read(key)});
}

function read(path: string): Buffer {
	try {
		return readFileSync(path);
	} catch (error) {
		throw new LongarmError('TLS_INVALID', {message: `cannot read ${path}: ${(error as Error).message}`});
	}
}
