import {type AuthFailure, readBearer} from './bearer.js';
import {CapabilityTokens, digestOf} from './capability-tokens.js';
import type {Grant} from './grant.js';
import {readSecret} from './secret-file.js';
import {type CheckSigned, readSignedTokens, type SignedTokenRules} from './signed-tokens.js';
import {readTokensFile} from './tokens-file.js';

/** Where the tokens that are good come from. */
export type AuthSource =
	| {readonly kind: 'token-file'; readonly path: string}
	| {readonly kind: 'token-digest'; readonly digest: Buffer}
	| {readonly kind: 'tokens-file'; readonly path: string}
	| ({readonly kind: 'signed'; readonly secretPath: string} & SignedTokenRules);

/** In the words of a listener; see `transports/node/listener.ts`. */
export type AuthResult =
	| {readonly kind: 'pass'; readonly pass: Grant}
	| {readonly kind: 'refused'; readonly text: AuthFailure};

type Check =
	| {readonly kind: 'capability'; readonly tokens: CapabilityTokens}
	| {readonly kind: 'signed'; readonly check: CheckSigned};

/** The only token there is, good for everything. */
const SINGLE: Grant = {name: 'token'};

/** Knows who may come in. Printed or logged, it shows nothing. */
export class Authenticator {
	readonly #source: AuthSource;
	#check: Check;

	/** Reads the secrets; throws `AUTH_INVALID` when they cannot be used. */
	constructor(source: AuthSource) {
		this.#source = source;
		this.#check = load(source);
	}

	/** Reads the secrets again; when that fails those that are known stay. */
	reload(): void {
		this.#check = load(this.#source);
	}

	/** Judges an `Authorization` header. */
	async authenticate(header: string | undefined): Promise<AuthResult> {
		const bearer = readBearer(header);
		if (bearer.kind === 'refused') return {kind: 'refused', text: bearer.failure};
		const check = this.#check;
		if (check.kind === 'capability') {
			const pass = check.tokens.find(bearer.token);
			return pass ? {kind: 'pass', pass} : {kind: 'refused', text: 'invalid websocket bearer token'};
		}
		const verdict = await check.check(bearer.token);
		return 'grant' in verdict ? {kind: 'pass', pass: verdict.grant} : {kind: 'refused', text: verdict.failure};
	}
}

function load(source: AuthSource): Check {
	switch (source.kind) {
		case 'token-file':
			return capability([{digest: digestOf(readSecret(source.path)), grant: SINGLE}]);
		case 'token-digest':
			return capability([{digest: source.digest, grant: SINGLE}]);
		case 'tokens-file':
			return capability(readTokensFile(source.path));
		case 'signed':
			return {kind: 'signed', check: readSignedTokens(source.secretPath, source)};
	}
}

function capability(tokens: ConstructorParameters<typeof CapabilityTokens>[0]): Check {
	return {kind: 'capability', tokens: new CapabilityTokens(tokens)};
}
