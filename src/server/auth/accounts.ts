import {RetentionBudget} from '../../processes/output/retention-budget.js';
import {ProcessQuota} from '../../processes/process-quota.js';
import type {Grant, GrantLimits} from './grant.js';

/** What the connections and sessions of one name use together. */
export class Account {
	readonly processes: ProcessQuota;
	readonly retained: RetentionBudget;
	/** Connections and sessions; the account is forgotten with the last. */
	users = 0;
	connections = 0;

	constructor(name: string, whole: RetentionBudget) {
		this.processes = new ProcessQuota(Number.POSITIVE_INFINITY, `the token ${name}`);
		this.retained = new RetentionBudget(Number.POSITIVE_INFINITY, whole);
	}

	/** The newest connection knows the limits that hold. */
	limit({maxProcesses = Number.POSITIVE_INFINITY, maxRetainedBytes = Number.POSITIVE_INFINITY}: GrantLimits): void {
		this.processes.resize(maxProcesses);
		this.retained.resize(maxRetainedBytes);
	}
}

/** Accounts by name, for as long as somebody uses them. */
export class Accounts {
	readonly #whole: RetentionBudget;
	readonly #accounts = new Map<string, Account>();

	/** `whole` is what the server keeps in all. */
	constructor(whole: RetentionBudget) {
		this.#whole = whole;
	}

	/** Whether one more connection is within the limits. */
	hasRoom({name, limits}: Grant): boolean {
		const open = this.#accounts.get(name)?.connections ?? 0;
		return open < (limits?.maxConnections ?? Number.POSITIVE_INFINITY);
	}

	/** To be called once for every connection; the returned function when it is over. */
	connect(grant: Grant | undefined): () => void {
		if (!grant) return () => {};
		const account = this.#take(grant);
		account.limit(grant.limits ?? {});
		account.connections++;
		return once(() => {
			account.connections--;
			this.#leave(grant, account);
		});
	}

	/** The account behind a table of processes; `leave` when the table is over. */
	open(grant: Grant | undefined): {readonly account?: Account; readonly leave: () => void} {
		if (!grant) return {leave: () => {}};
		const account = this.#take(grant);
		return {account, leave: once(() => this.#leave(grant, account))};
	}

	#take({name}: Grant): Account {
		let account = this.#accounts.get(name);
		if (!account) {
			account = new Account(name, this.#whole);
			this.#accounts.set(name, account);
		}
		account.users++;
		return account;
	}

	#leave({name}: Grant, account: Account): void {
		if (--account.users === 0) this.#accounts.delete(name);
	}
}

/** A session that is destroyed twice still leaves once. */
function once(act: () => void): () => void {
	let done = false;
	return () => {
		if (!done) act();
		done = true;
	};
}
