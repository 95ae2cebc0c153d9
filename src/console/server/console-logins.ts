import {createHash, randomBytes} from 'node:crypto';
import {Lifetime} from '../../shared/async/lifetime.js';

/** Time in which a login link has to be used. */
export const LOGIN_LINK_MS = 60 * 60_000;
/** Time after which a browser has to log in again. */
export const CONSOLE_SESSION_MS = 12 * 60 * 60_000;
/** Browsers that are logged in at once; beyond it the login with the most browsers loses the one used least recently. */
export const MAX_CONSOLE_SESSIONS = 256;
/** Of these, browsers with one and the same login: the holder of one link cannot log everybody else out. */
export const MAX_SESSIONS_PER_LOGIN = 32;
/** Login links that wait for their use; the oldest goes first. */
export const MAX_LOGIN_LINKS = 64;
const SECRET_BYTES = 32;

/** The rights of a browser: those of the user who runs the program, or of a bearer token, which is checked at each use. */
export type ConsoleLogin = {readonly kind: 'owner'} | {readonly kind: 'token'; readonly token: string};

/** A browser that is logged in. */
export interface ConsoleSession {
	readonly login: ConsoleLogin;
	/** Monotonic. */
	readonly expiresAt: number;
	/** Open connections of the browser. One that is accepted after the end of the session is ended at once. */
	readonly connections: Lifetime;
}

/** A session for a program that takes the place of this one. */
export interface ConsoleSessionRecord {
	readonly digest: string;
	readonly login: ConsoleLogin;
	readonly remainingMs: number;
}

/** One-time login links and the cookies they are exchanged for. Only digests of both are kept, in memory. */
export class ConsoleLogins {
	readonly #links = new Map<string, number>();
	readonly #sessions = new Map<string, ConsoleSession>();
	readonly #now: () => number;

	constructor(now = () => performance.now()) {
		this.#now = now;
	}

	/** The secret of a new login link, for the user who runs the program. */
	createLink(): string {
		const secret = createSecret();
		if (this.#links.size >= MAX_LOGIN_LINKS) this.#links.delete(this.#links.keys().next().value!);
		this.#links.set(digestOfSecret(secret), this.#now() + LOGIN_LINK_MS);
		return secret;
	}

	/** Whether a link is good; it stays so until it is used. */
	hasLink(secret: string): boolean {
		return (this.#links.get(digestOfSecret(secret)) ?? 0) > this.#now();
	}

	/** Uses a link up; false for one that is unknown, used or expired. */
	useLink(secret: string): boolean {
		const digest = digestOfSecret(secret);
		const expiresAt = this.#links.get(digest);
		this.#links.delete(digest);
		return expiresAt !== undefined && expiresAt > this.#now();
	}

	/** The cookie of a browser that has logged in. */
	open(login: ConsoleLogin): string {
		this.#dropExpired();
		const same = [...this.#sessions].filter(([, session]) => isSameLogin(session.login, login));
		if (same.length >= MAX_SESSIONS_PER_LOGIN) this.#end(same[0]![0]);
		else if (this.#sessions.size >= MAX_CONSOLE_SESSIONS) this.#end(this.#findLeastNeeded());
		const cookie = createSecret();
		this.#add(digestOfSecret(cookie), login, CONSOLE_SESSION_MS);
		return cookie;
	}

	find(cookie: string): ConsoleSession | undefined {
		const digest = digestOfSecret(cookie);
		const session = this.#sessions.get(digest);
		if (!session) return undefined;
		if (session.expiresAt <= this.#now()) {
			this.#end(digest);
			return undefined;
		}
		// Last in the order of use.
		this.#sessions.delete(digest);
		this.#sessions.set(digest, session);
		return session;
	}

	/** Logs the browser out and ends its connections. */
	close(cookie: string): void {
		this.#end(digestOfSecret(cookie));
	}

	/** Ends the sessions whose login is no longer good. */
	async recheck(isGood: (login: ConsoleLogin) => Promise<boolean>): Promise<void> {
		this.#dropExpired();
		for (const [digest, {login}] of this.#sessions) {
			// A login that cannot be checked is not good; the others are checked all the same.
			if (!(await isGood(login).catch(() => false))) this.#end(digest);
		}
	}

	handOver(): ConsoleSessionRecord[] {
		this.#dropExpired();
		const now = this.#now();
		return [...this.#sessions].map(([digest, {login, expiresAt}]) => ({digest, login, remainingMs: expiresAt - now}));
	}

	adopt(records: readonly ConsoleSessionRecord[]): void {
		for (const {digest, login, remainingMs} of records) this.#add(digest, login, remainingMs);
	}

	#add(digest: string, login: ConsoleLogin, remainingMs: number): void {
		const connections = new Lifetime();
		this.#sessions.set(digest, {login, expiresAt: this.#now() + remainingMs, connections});
		// A page that stays open asks for nothing that would show that its time is up.
		const timer = setTimeout(() => this.#end(digest), remainingMs).unref();
		connections.add(() => clearTimeout(timer));
	}

	/** The least recently used session of the login with the most sessions: few browsers are not logged out for many others. */
	#findLeastNeeded(): string {
		const counts = new Map<string, {count: number; first: string}>();
		let most = {count: 0, first: ''};
		for (const [digest, {login}] of this.#sessions) {
			const key = login.kind === 'token' ? `token ${login.token}` : login.kind;
			const {count, first} = counts.get(key) ?? {count: 0, first: digest};
			const next = {count: count + 1, first};
			counts.set(key, next);
			if (next.count > most.count) most = next;
		}
		return most.first;
	}

	#dropExpired(): void {
		const now = this.#now();
		for (const [digest, {expiresAt}] of this.#sessions) if (expiresAt <= now) this.#end(digest);
	}

	#end(digest: string): void {
		const session = this.#sessions.get(digest);
		this.#sessions.delete(digest);
		session?.connections.close();
	}
}

/** Whether two logins have the same rights, whichever browsers they are of. */
export function isSameLogin(one: ConsoleLogin, other: ConsoleLogin): boolean {
	return one.kind === 'token' ? other.kind === 'token' && one.token === other.token : other.kind === 'owner';
}

function createSecret(): string {
	return randomBytes(SECRET_BYTES).toString('base64url');
}

/** A lookup by digest takes a time that tells nothing about the secrets that are good. */
function digestOfSecret(secret: string): string {
	return createHash('sha256').update(secret).digest('hex');
}
