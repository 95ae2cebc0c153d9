import type {Readable} from 'node:stream';
import {readSecret} from '../../../server/auth/secret-file.js';
import {type CredentialState, readCredentialFrames} from './credential-frames.js';
import {readRegistrationBearer} from './registration-bearer.js';
import {API_KEY_VARIABLE, invalidSetting, type Settings} from './serve-settings.js';

/** Members of a frame for a token without an expiry of its own. */
const FOREVER = {version: 1, expires_at: Number.MAX_SAFE_INTEGER} as const;

/** Source of the token an executor registers with. */
export interface RemoteCredential {
	/** Throws when the token has expired. */
	readonly token: () => string;
	/** Answers of the registry could echo a token that others must not see. */
	readonly isScoped: boolean;
	/** Settles with the reason when the executor has to stop; rejects with a credential that cannot be used. */
	readonly over: Promise<string>;
	/** For the program that takes the place of this one; undefined if that finds the token by itself. */
	readonly handOver: () => CredentialState | undefined;
}

/** There is no token to register with, in upstream's words. */
class MissingCredentialError extends Error {
	override readonly name = 'MissingCredentialError';
	readonly hint =
		`A hub wants a token: --token-file FILE, --registration-bearer-stdin, --executor-credential-stdin or ${API_KEY_VARIABLE}; longarm hub token create makes one.`;

	constructor() {
		super(
			`remote exec-server registration requires ChatGPT authentication or API key authentication; run \`codex login\` or set ${API_KEY_VARIABLE}`,
		);
	}
}

export interface CredentialOptions {
	readonly environmentId: string;
	/** Of the program that this one has taken the place of. */
	readonly inherited?: CredentialState | undefined;
	readonly input?: Readable | undefined;
}

/** From standard input, a file or the variable of the stock program, in that order. */
export async function openRemoteCredential(
	settings: Settings,
	{environmentId, inherited, input = process.stdin}: CredentialOptions,
): Promise<RemoteCredential> {
	const isBearer = settings['registration-bearer-stdin'];
	if (settings['executor-credential-stdin']) {
		if (isBearer) throw stdinUsedTwice('--executor-credential-stdin');
		return readCredentialFrames(input, environmentId, inherited);
	}
	if (isBearer && settings.listen.startsWith('stdio')) throw stdinUsedTwice('--listen stdio');
	const file = isBearer ? undefined : settings['token-file'];
	// The predecessor of this program has read the bearer, and erased the variable.
	const given = isBearer ? () => readRegistrationBearer(input) : () => process.env[API_KEY_VARIABLE]?.trim();
	const token = file === undefined ? (inherited?.frame.token ?? (await given())) : readSecret(file).trim();
	if (!token) {
		throw new MissingCredentialError();
	}
	const over = settings['exit-on-stdin-close'] ? waitForEnd(input) : new Promise<string>(() => {});
	return {
		token: () => token,
		isScoped: isBearer,
		over,
		handOver: () =>
			file === undefined ? {frame: {...FOREVER, environment_id: environmentId, token}, rest: ''} : undefined,
	};
}

function stdinUsedTwice(other: string): Error {
	return invalidSetting(`the argument '--registration-bearer-stdin' cannot be used with '${other}'`);
}

function waitForEnd(input: Readable): Promise<string> {
	return new Promise(resolve => {
		if (input.readableEnded) resolve('end of input');
		input.on('end', () => resolve('end of input'));
		input.on('error', () => resolve('end of input'));
		input.resume();
	});
}
