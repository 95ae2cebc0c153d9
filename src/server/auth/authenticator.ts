import {CapabilityTokens, digestOf} from './capability-tokens.js';
import {allows, type Grant} from './grant.js';
import {readSecret} from './secret-file.js';
import {type CheckSigned, readSignedTokens, type SignedTokenFailure, type SignedTokenRules} from './signed-tokens.js';
import {readTokensFile} from './tokens-file.js';

/** Source of the accepted tokens. */
export type AuthSource =
	| {readonly kind: 'token-file'; readonly path: string}
	| {readonly kind: 'token-digest'; readonly digest: Buffer}
	| {readonly kind: 'tokens-file'; readonly path: string}
	| ({readonly kind: 'signed'; readonly secretPath: string} & SignedTokenRules);

/** Why a connection is rejected; the text is the body of the HTTP answer. */
export type AuthFailure =
	| 'missing websocket bearer token'
	| 'invalid authorization header'
	| 'invalid websocket bearer token'
	| SignedTokenFailure;

/** The admission result a listener expects; see `transports/node/listener.ts`. */
export type AuthResult =
	| {readonly kind: 'pass'; readonly pass: Grant}
	| {readonly kind: 'refused'; readonly text: AuthFailure};

type Check =
	| {readonly kind: 'capability'; readonly tokens: CapabilityTokens}
	| {readonly kind: 'signed'; readonly check: CheckSigned; readonly digest: string};

type Bearer =
	| {readonly kind: 'token'; readonly token: string}
	| {readonly kind: 'refused'; readonly failure: AuthFailure};

const MALFORMED: Bearer = {kind: 'refused', failure: 'invalid authorization header'};

/** Grant of a single configured token: all scopes, no limits. */
const SINGLE_TOKEN_GRANT: Grant = {name: 'token'};

/** Checks bearer tokens of new connections. Safe to log: secrets are in private fields only. */
export class Authenticator {
	readonly #source: AuthSource;
	#check: Check;

	/** Reads the secrets; throws `AUTH_INVALID` when they cannot be used. */
	constructor(source: AuthSource) {
		this.#source = source;
		this.#check = load(source);
	}

	/** Reads the secrets again; when that throws, the previous ones stay in force. */
	reload(): void {
		this.#check = load(this.#source);
	}

	/** Checks an `Authorization` header; `findShare` knows the tokens that were handed out for single processes. */
	async authenticate(
		header: string | undefined,
		findShare?: (token: string) => Grant | undefined,
	): Promise<AuthResult> {
		const bearer = readBearer(header);
		if (bearer.kind === 'refused') return {kind: 'refused', text: bearer.failure};
		const share = findShare?.(bearer.token);
		if (share && this.isGood(share)) return {kind: 'pass', pass: share};
		const check = this.#check;
		if (check.kind === 'capability') {
			const pass = check.tokens.find(bearer.token);
			return pass ? {kind: 'pass', pass} : {kind: 'refused', text: 'invalid websocket bearer token'};
		}
		const result = await check.check(bearer.token);
		return 'grant' in result ? {kind: 'pass', pass: result.grant} : {kind: 'refused', text: result.failure};
	}

	/** Whether the token is still accepted that a grant was made of, or that shared the process of the grant. */
	isGood({source}: Grant): boolean {
		if (!source) return true;
		const {owner, digest, expiresAtMs = Number.POSITIVE_INFINITY} = source;
		const check = this.#check;
		if (check.kind === 'signed') return check.digest === digest && expiresAtMs > Date.now();
		const token = check.tokens.findByDigest(digest);
		// Only who may drive a process may share it.
		return token?.name === owner && allows(token, 'drive');
	}

	/** Whether a grant is good for the pages of the server, which tell how its processes are. */
	mayObserve(grant: Grant | undefined): boolean {
		return allows(grant, 'observe');
	}
}

function load(source: AuthSource): Check {
	switch (source.kind) {
		case 'token-file':
			return createCapabilityCheck([{digest: digestOf(readSecret(source.path)), grant: SINGLE_TOKEN_GRANT}]);
		case 'token-digest':
			return createCapabilityCheck([{digest: source.digest, grant: SINGLE_TOKEN_GRANT}]);
		case 'tokens-file':
			return createCapabilityCheck(readTokensFile(source.path));
		case 'signed':
			return {kind: 'signed', ...readSignedTokens(source.secretPath, source)};
	}
}

function createCapabilityCheck(tokens: ConstructorParameters<typeof CapabilityTokens>[0]): Check {
	return {kind: 'capability', tokens: new CapabilityTokens(tokens)};
}

/** The token of an `Authorization` header. */
function readBearer(header: string | undefined): Bearer {
	if (header === undefined) return {kind: 'refused', failure: 'missing websocket bearer token'};
	const space = header.indexOf(' ');
	if (!/^[\t -~]*$/.test(header) || header.slice(0, Math.max(space, 0)).toLowerCase() !== 'bearer') return MALFORMED;
	const token = header.slice(space).trim();
	return token === '' ? MALFORMED : {kind: 'token', token};
}
