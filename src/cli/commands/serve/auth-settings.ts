import {DEFAULT_CLOCK_SKEW_SECONDS} from '../../../server/auth/auth-modes.js';
import type {AuthSource} from '../../../server/auth/authenticator.js';
import {parseDigest} from '../../../server/auth/capability-tokens.js';
import {invalidAuthError} from '../../../server/auth/secret-file.js';
import {type ListenAddress, listenSchemeOf} from '../../../transports/node/registry.js';
import type {SettingName, Settings} from './serve-settings.js';

const CAPABILITY = ['ws-token-file', 'ws-token-sha256', 'ws-tokens-file'] as const satisfies SettingName[];
const SIGNED = [
	'ws-shared-secret-file',
	'ws-issuer',
	'ws-audience',
	'ws-max-clock-skew-seconds',
] as const satisfies SettingName[];

/** Source of valid tokens, from the settings; undefined without authentication. */
export function readAuthSource(settings: Settings, address: ListenAddress): AuthSource | undefined {
	const source = selectSource(settings);
	if (source && listenSchemeOf(address).startsServer) {
		throw invalidAuthError(`WebSocket auth requires a WebSocket listener, not ${address.kind}`);
	}
	return source;
}

function selectSource(settings: Settings): AuthSource | undefined {
	const given = (names: readonly SettingName[]) => names.filter(name => settings[name] !== undefined);
	switch (settings['ws-auth']) {
		case undefined:
			if (given([...CAPABILITY, ...SIGNED]).length === 0) return undefined;
			throw invalidAuthError(
				'websocket auth flags require `--ws-auth capability-token` or `--ws-auth signed-bearer-token`',
			);
		case 'capability-token':
			refuseOthers(given(SIGNED), 'signed-bearer-token');
			return capabilitySource(settings, given(CAPABILITY));
		case 'signed-bearer-token':
			refuseOthers(given(CAPABILITY), 'capability-token');
			return signedSource(settings);
	}
}

function refuseOthers([name]: readonly SettingName[], mode: string): void {
	if (name !== undefined) throw invalidAuthError(`\`--${name}\` is for \`--ws-auth ${mode}\` only`);
}

function capabilitySource(settings: Settings, given: readonly SettingName[]): AuthSource {
	const [one, other] = given;
	if (other !== undefined) throw invalidAuthError(`\`--${one}\` and \`--${other}\` are mutually exclusive`);
	const {'ws-token-file': file, 'ws-token-sha256': hex, 'ws-tokens-file': many} = settings;
	if (file !== undefined) return {kind: 'token-file', path: file};
	if (many !== undefined) return {kind: 'tokens-file', path: many};
	if (hex === undefined) {
		throw invalidAuthError(
			'`--ws-token-file` or `--ws-token-sha256` is required when `--ws-auth capability-token` is set',
		);
	}
	const digest = parseDigest(hex);
	if (!digest) throw invalidAuthError('--ws-token-sha256 must be a 64-character hex SHA-256 digest');
	return {kind: 'token-digest', digest};
}

function signedSource(settings: Settings): AuthSource {
	const secretPath = settings['ws-shared-secret-file'];
	if (secretPath === undefined) {
		throw invalidAuthError('`--ws-shared-secret-file` is required when `--ws-auth signed-bearer-token` is set');
	}
	return {
		kind: 'signed',
		secretPath,
		issuer: trimOrUndefined(settings['ws-issuer']),
		audience: trimOrUndefined(settings['ws-audience']),
		skewSeconds: settings['ws-max-clock-skew-seconds'] ?? DEFAULT_CLOCK_SKEW_SECONDS,
	};
}

function trimOrUndefined(text: string | undefined): string | undefined {
	return text?.trim() || undefined;
}
