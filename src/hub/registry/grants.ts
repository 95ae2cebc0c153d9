import {createHash, randomBytes, timingSafeEqual} from 'node:crypto';
import type {RelayKey} from '../../protocol/relay/relay-keys.js';

/** How long an authorization can be used, once. */
export const GRANT_MS = 60_000;
/** Authorizations that wait to be used. */
export const MAX_GRANTS = 100_000;
const SECRET_BYTES = 32;

interface PendingGrant {
	readonly binding: Buffer;
	/** Monotonic. */
	readonly expiresAt: number;
}

/** Use of an authorization: one client key at one registration. */
export interface GrantBinding {
	readonly environmentId: string;
	readonly registrationId: string;
	readonly harnessKey: RelayKey;
}

/** Authorizations of clients: random, short-lived, good once. Only digests are kept. */
export class Grants {
	/** By digest, oldest first. */
	readonly #pending = new Map<string, PendingGrant>();

	create(binding: GrantBinding): string {
		this.#dropExpired();
		if (this.#pending.size >= MAX_GRANTS) throw new Error('too many clients connect at once');
		const authorization = randomBytes(SECRET_BYTES).toString('base64url');
		this.#pending.set(digestOf(authorization), {
			binding: digestBinding(binding),
			expiresAt: performance.now() + GRANT_MS,
		});
		return authorization;
	}

	/** Uses an authorization up, whatever the answer. */
	use(authorization: string, binding: GrantBinding): boolean {
		const digest = digestOf(authorization);
		const grant = this.#pending.get(digest);
		if (!grant) return false;
		this.#pending.delete(digest);
		return grant.expiresAt > performance.now() && timingSafeEqual(grant.binding, digestBinding(binding));
	}

	#dropExpired(): void {
		const now = performance.now();
		for (const [digest, {expiresAt}] of this.#pending) {
			if (expiresAt > now) return;
			this.#pending.delete(digest);
		}
	}
}

function digestOf(text: string): string {
	return createHash('sha256').update(text).digest('hex');
}

function digestBinding({environmentId, registrationId, harnessKey}: GrantBinding): Buffer {
	const {suite, x25519_public_key: dh, mlkem768_public_key: kem} = harnessKey;
	return createHash('sha256')
		.update(JSON.stringify([environmentId, registrationId, suite, dh, kem]))
		.digest();
}
