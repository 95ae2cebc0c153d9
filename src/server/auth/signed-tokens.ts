import {createHash} from 'node:crypto';
import {parseStrictJson} from '../../protocol/wire/strict-json.js';
import {type Grant, isAccessScope} from './grant.js';
import {invalidAuthError, readSecret} from './secret-file.js';

/** Shorter secrets can be brute-forced from a single token. */
const MIN_SECRET_BYTES = 32;
/** A token cannot be taken back, so it must not be good for long: 30 days from its issue, or its use if it does not tell. */
export const MAX_LIFETIME_SECONDS = 30 * 24 * 60 * 60;

/** Claims a signed token must have to be accepted. */
export interface SignedTokenRules {
	readonly issuer?: string | undefined;
	readonly audience?: string | undefined;
	/** Tolerated difference between the clocks of issuer and server. */
	readonly skewSeconds: number;
}

export type SignedTokenFailure =
	| 'invalid websocket jwt'
	| 'expired websocket jwt'
	| 'websocket jwt is not valid yet'
	| 'websocket jwt is valid for too long'
	| 'websocket jwt issuer mismatch'
	| 'websocket jwt audience mismatch';

export type SignedTokenResult = {readonly grant: Grant} | {readonly failure: SignedTokenFailure};
export type CheckSigned = (token: string) => Promise<SignedTokenResult>;

const INVALID: SignedTokenResult = {failure: 'invalid websocket jwt'};

interface Claims {
	readonly exp: number;
	readonly nbf: number | undefined;
	readonly iat: number | undefined;
	readonly iss: string | undefined;
	readonly aud: readonly string[];
	readonly sub: string;
	readonly scope: string | undefined;
}

/** A verifier for tokens signed with the secret of a file, and the digest of the secret, which stays in the closure. */
export function readSignedTokens(
	path: string,
	rules: SignedTokenRules,
): {readonly check: CheckSigned; readonly digest: string} {
	const secret = new TextEncoder().encode(readSecret(path));
	if (secret.length < MIN_SECRET_BYTES) {
		throw invalidAuthError(`signed websocket bearer secret ${path} must be at least ${MIN_SECRET_BYTES} bytes`);
	}
	const digest = createHash('sha256').update(secret).digest('hex');
	const check: CheckSigned = async token => {
		const claims = await verifySignature(token, secret);
		if (!claims) return INVALID;
		const failure = findFailure(claims, rules, Math.floor(Date.now() / 1000));
		if (failure) return {failure};
		const expiresAtMs = (claims.exp + rules.skewSeconds) * 1000;
		return {grant: {...toGrant(claims), source: {owner: claims.sub, digest, expiresAtMs}}};
	};
	return {check, digest};
}

/** The claims of a token with a valid signature. The library is loaded lazily, with the first token. */
async function verifySignature(token: string, secret: Uint8Array): Promise<Claims | undefined> {
	const {compactVerify} = await import('jose/jws/compact/verify');
	try {
		const {payload} = await compactVerify(token, secret, {algorithms: ['HS256']});
		// Strictly: of a claim that is there twice, other readers may see the other one.
		return readClaims(parseStrictJson(new TextDecoder('utf-8', {fatal: true}).decode(payload)).value);
	} catch {
		return undefined;
	}
}

/** Undefined when a claim is of the wrong type or the token never expires; `null` counts as missing. */
function readClaims(value: unknown): Claims | undefined {
	if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
	const {exp, nbf, iat, iss, aud, sub, scope} = value as Record<string, unknown>;
	const audiences = Array.isArray(aud) ? (aud as unknown[]) : aud === undefined || aud === null ? [] : [aud];
	if (!isTime(exp) || !audiences.every(each => typeof each === 'string')) return undefined;
	if (!(isMissing(nbf) || isTime(nbf)) || !(isMissing(iat) || isTime(iat))) return undefined;
	if (![iss, sub, scope].every(each => isMissing(each) || typeof each === 'string')) return undefined;
	return {
		exp,
		nbf: nbf ?? undefined,
		iat: iat ?? undefined,
		iss: (iss as string | null) ?? undefined,
		aud: audiences,
		sub: (sub as string | null) ?? '',
		scope: (scope as string | null) ?? undefined,
	};
}

function isMissing(value: unknown): value is null | undefined {
	return value === undefined || value === null;
}

function isTime(value: unknown): value is number {
	return Number.isInteger(value);
}

/** First rule the claims break. Times are whole seconds, bounds inclusive. */
function findFailure(claims: Claims, rules: SignedTokenRules, now: number): SignedTokenFailure | undefined {
	const {exp, nbf, iat, iss, aud} = claims;
	const {issuer, audience, skewSeconds} = rules;
	if (now > exp + skewSeconds) return 'expired websocket jwt';
	if (nbf !== undefined && now < nbf - skewSeconds) return 'websocket jwt is not valid yet';
	if (iat !== undefined && now < iat - skewSeconds) return 'websocket jwt is not valid yet';
	if (exp - (iat ?? nbf ?? now) > MAX_LIFETIME_SECONDS) return 'websocket jwt is valid for too long';
	if (issuer !== undefined && iss !== issuer) return 'websocket jwt issuer mismatch';
	if (audience !== undefined && !aud.includes(audience)) return 'websocket jwt audience mismatch';
	return undefined;
}

/** Unknown scopes are ignored: the same token may be used with other services. */
function toGrant({sub, scope}: Claims): Grant {
	return {name: sub, ...(scope !== undefined && {scopes: scope.split(' ').filter(isAccessScope)})};
}
