import {X509Certificate} from 'node:crypto';
import {readFile, stat} from 'node:fs/promises';
import {isIP} from 'node:net';
import {type ConnectionOptions, connect, type TLSSocket} from 'node:tls';
import {errorMessage, LongarmError} from '../../shared/errors.js';
import {findIntegrityFault} from '../../shared/node/private-file.js';
import {FINGERPRINT_FORM, formatFingerprint, parseFingerprint} from './fingerprint.js';

const DEFAULT_PORT = 443;

/** Options that the runtime knows. */
export type RuntimeTlsOptions = Pick<ConnectionOptions, 'ca' | 'cert' | 'key' | 'passphrase' | 'servername'>;

/** For `wss:`: whom to trust, and who we are. */
export interface TlsOptions extends RuntimeTlsOptions {
	/** File with the certificates of authorities, in PEM: they are trusted instead of the usual ones, as with `ca`. */
	readonly caFile?: string | undefined;
	/**
	 * `sha256:HEX` of the server's certificate: that one is trusted and no other, whoever issued it, for whatever name and
	 * time.
	 */
	readonly fingerprint?: string | undefined;
}

const HOW_TO_TRUST =
	'--ca-file FILE with the certificate of its issuer (ca_file in environments.toml), or --tls-fingerprint sha256:HEX to pin this very certificate (tls_fingerprint)';
const NOT_TRUSTED = `Nobody we trust vouches for the certificate. Give ${HOW_TO_TRUST}.`;
const OUT_OF_DATE =
	'Renew the certificate (longarm serve reads it again on SIGHUP), or check the clocks. One that is pinned with --tls-fingerprint may be out of date.';
const OTHER_NAME =
	'Call the server by a name that is in its certificate, or pin the certificate: --tls-fingerprint sha256:HEX (tls_fingerprint in environments.toml).';
const NO_TLS = 'There is no TLS on that port: try ws:// instead of wss://, or another port.';

/** Advice on errors of TLS, by their code. */
const HINTS: Readonly<Record<string, string>> = {
	DEPTH_ZERO_SELF_SIGNED_CERT: NOT_TRUSTED,
	SELF_SIGNED_CERT_IN_CHAIN: NOT_TRUSTED,
	UNABLE_TO_VERIFY_LEAF_SIGNATURE: NOT_TRUSTED,
	UNABLE_TO_GET_ISSUER_CERT: NOT_TRUSTED,
	UNABLE_TO_GET_ISSUER_CERT_LOCALLY: NOT_TRUSTED,
	CERT_UNTRUSTED: NOT_TRUSTED,
	CERT_HAS_EXPIRED: OUT_OF_DATE,
	CERT_NOT_YET_VALID: OUT_OF_DATE,
	ERR_TLS_CERT_ALTNAME_INVALID: OTHER_NAME,
};
/** Words of OpenSSL about an answer that is no TLS; the code depends on the version of Node. */
const NO_TLS_TEXT = /wrong version number|packet length too long/i;

/** Advice for people; undefined for an error that is not about TLS. */
export function hintOfTlsError(error: Error): string | undefined {
	if (error instanceof FingerprintError) return error.hint;
	if (NO_TLS_TEXT.test(error.message)) return NO_TLS;
	const {code} = error as NodeJS.ErrnoException;
	return code === undefined ? undefined : HINTS[code];
}

/** The server has another certificate than the one that is pinned. */
export class FingerprintError extends Error {
	override readonly name = 'FingerprintError';
	readonly hint =
		'Either the server got another certificate, or somebody is in between. Ask its owner for the fingerprint before you change it here.';

	constructor(shown: string | undefined, pinned: string) {
		super(`its certificate is ${shown ?? 'missing'}, and the one that is pinned is ${pinned}`);
	}
}

/** Options for the runtime: with the content of the file in place of its path. */
export async function toRuntimeOptions(tls: TlsOptions): Promise<RuntimeTlsOptions> {
	const {caFile, fingerprint: _, ...options} = tls;
	if (caFile === undefined) return options;
	if (options.ca !== undefined) throw invalidTrust('ca and caFile exclude each other');
	return {...options, ca: await readAuthorities(caFile)};
}

/** Refuses what could not be enforced. */
export function requireSecureUrl(url: URL, {caFile, fingerprint}: TlsOptions): void {
	if ((caFile === undefined && fingerprint === undefined) || url.protocol === 'wss:') return;
	throw invalidTrust('a file of authorities and a fingerprint go with wss:// only');
}

/** Throws for a text that is no fingerprint. */
export function requireFingerprint(text: string): string {
	const fingerprint = parseFingerprint(text);
	if (fingerprint === undefined) throw invalidTrust(`\`${text}\` is no fingerprint: expected ${FINGERPRINT_FORM}`);
	return fingerprint;
}

/**
 * Connects and checks the certificate before anything is sent. A connection that is resolved with has the pinned one.
 */
export function connectPinned(url: URL, fingerprint: string, options: RuntimeTlsOptions): PinnedConnection {
	const pinned = requireFingerprint(fingerprint);
	const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
	const port = url.port === '' ? DEFAULT_PORT : Number(url.port);
	const servername = options.servername ?? (isIP(host) === 0 ? host : '');
	const socket = connect({...options, host, port, servername, rejectUnauthorized: false});
	const checked = new Promise<TLSSocket>((resolve, reject) => {
		// Also for errors after the check, until the WebSocket has handlers of its own.
		socket.on('error', reject);
		socket.once('close', () => reject(new Error('the connection was closed')));
		socket.once('secureConnect', () => {
			const {fingerprint256} = socket.getPeerCertificate();
			const shown = fingerprint256 === undefined ? undefined : formatFingerprint(fingerprint256);
			if (shown === pinned) resolve(socket);
			else {
				socket.destroy();
				reject(new FingerprintError(shown, pinned));
			}
		});
	});
	return {socket, checked};
}

export interface PinnedConnection {
	readonly socket: TLSSocket;
	/** Rejects if the certificate is another one, or if there is no connection. */
	readonly checked: Promise<TLSSocket>;
}

async function readAuthorities(path: string): Promise<string> {
	let text: string;
	try {
		const fault = findIntegrityFault(await stat(path), path);
		if (fault !== undefined) throw new Error(`${path} cannot be trusted: ${fault}`);
		text = await readFile(path, 'utf8');
	} catch (cause) {
		throw invalidTrust(`cannot read the authorities to trust: ${errorMessage(cause)}`);
	}
	try {
		// The runtime takes a text without certificates for no authority at all.
		return String(new X509Certificate(text)) && text;
	} catch {
		throw invalidTrust(`${path} holds no certificate in PEM`);
	}
}

function invalidTrust(message: string): LongarmError {
	return new LongarmError('ENVIRONMENT_INVALID', {message});
}
