import {parseFingerprint} from '../../transports/node/fingerprint.js';
import type {RemoteTarget} from './remote-target.js';
import {invalidEnvironment} from './remote-url.js';

/** Whom to trust at the other end of `wss:`, as users give it. */
export interface GivenTrust {
	/** Path of a file with certificates of authorities. */
	readonly caFile?: string | undefined;
	/** `sha256:HEX` of the one certificate that is accepted. */
	readonly fingerprint?: string | undefined;
}

/** The target with that trust, or an error if it could not be enforced. `place` names it in the error. */
export function withTrust<T extends RemoteTarget>(target: T, trust: GivenTrust, place: string): T {
	const {caFile, fingerprint: given} = trust;
	if (caFile === undefined && given === undefined) return target;
	if (!isSecure(target)) {
		throw invalidEnvironment(`${place}: a file of authorities and a fingerprint go with a wss:// URL only`);
	}
	const fingerprint = given === undefined ? undefined : parseFingerprint(given);
	if (given !== undefined && fingerprint === undefined) {
		throw invalidEnvironment(`${place}: \`${given}\` is no fingerprint; expected sha256: and 64 hexadecimal digits`);
	}
	return {
		...target,
		tls: {...target.tls, ...(caFile !== undefined && {caFile}), ...(fingerprint !== undefined && {fingerprint})},
	};
}

function isSecure(target: RemoteTarget): target is RemoteTarget & {readonly kind: 'websocket'} {
	return target.kind === 'websocket' && target.url.startsWith('wss:');
}
