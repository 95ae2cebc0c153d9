import {parseFingerprint} from '../../transports/node/fingerprint.js';
import {requireExecutorKey} from '../../transports/node/registry-scheme.js';
import type {RemoteTarget} from './remote-target.js';
import {invalidEnvironment} from './remote-url.js';

/** Whom to trust at the other end of `wss:` or of a hub, as users give it. */
export interface GivenTrust {
	/** Path of a file with certificates of authorities. */
	readonly caFile?: string | undefined;
	/** `sha256:HEX` of the one certificate that is accepted. */
	readonly fingerprint?: string | undefined;
	/** `sha256:HEX` of the key of an executor behind a hub, or `any`. */
	readonly executorKey?: string | undefined;
}

/** The target with that trust, or an error if it could not be enforced. `place` names it in the error. */
export function withTrust<T extends RemoteTarget>(target: T, trust: GivenTrust, place: string): T {
	const {caFile, fingerprint: given, executorKey} = trust;
	const known = executorKey === undefined ? target : withExecutorKey(target, executorKey, place);
	return caFile === undefined && given === undefined ? known : withCertificates(known, trust, place);
}

function withExecutorKey<T extends RemoteTarget>(target: T, key: string, place: string): T {
	if (target.kind === 'registry') return {...target, executorKey: requireExecutorKey(key)};
	throw invalidEnvironment(`${place}: the key of an executor goes with a registry+https:// URL only`);
}

function withCertificates<T extends RemoteTarget>(
	target: T,
	{caFile, fingerprint: given}: GivenTrust,
	place: string,
): T {
	if (!isSecure(target)) {
		const message = 'a file of authorities and a fingerprint go with a wss:// URL only, or one with registry+https://';
		throw invalidEnvironment(`${place}: ${message}`);
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

/** Whether there is TLS on the way to the target. */
export function isSecure(target: RemoteTarget): target is RemoteTarget & {readonly kind: 'websocket' | 'registry'} {
	if (target.kind === 'registry') return target.url.startsWith('registry+https:');
	return target.kind === 'websocket' && target.url.startsWith('wss:');
}
