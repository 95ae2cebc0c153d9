import {InputBudget} from '../../processes/input-budget.js';
import {RetentionBudget} from '../../processes/output/retention-budget.js';
import {ProcessQuota} from '../../processes/process-quota.js';
import type {Grant, GrantLimits} from './grant.js';

/** Budgets of the whole server, which are the parents of those of every account. */
export interface ServerBudgets {
	readonly retained: RetentionBudget;
	readonly input: InputBudget;
}

/** Quotas shared by all connections and sessions of one token name. */
export class Account {
	readonly processes: ProcessQuota;
	readonly retained: RetentionBudget;
	readonly input: InputBudget;
	/** Reference count of connections and sessions; the account is deleted with the last. */
	users = 0;
	connections = 0;

	constructor(name: string, {retained, input}: ServerBudgets) {
		this.processes = new ProcessQuota(Number.POSITIVE_INFINITY, `the token ${name}`);
		this.retained = new RetentionBudget(Number.POSITIVE_INFINITY, retained);
		this.input = new InputBudget(input);
	}

	/** Applies the limits of the newest connection: its grant is the most recent one. */
	limit({maxProcesses = Number.POSITIVE_INFINITY, maxRetainedBytes = Number.POSITIVE_INFINITY}: GrantLimits): void {
		this.processes.resize(maxProcesses);
		this.retained.resize(maxRetainedBytes);
	}
}

/** Reference-counted accounts by token name. */
export class Accounts {
	readonly #budgets: ServerBudgets;
	readonly #accounts = new Map<string, Account>();

	constructor(budgets: ServerBudgets) {
		this.#budgets = budgets;
	}

	/** True if one more connection is within the limits. */
	hasRoom({name, limits}: Grant): boolean {
		const open = this.#accounts.get(name)?.connections ?? 0;
		return open < (limits?.maxConnections ?? Number.POSITIVE_INFINITY);
	}

	/** Registers a connection; the returned function releases it. */
	connect(grant: Grant | undefined): () => void {
		if (!grant) return () => {};
		const account = this.#take(grant);
		account.limit(grant.limits ?? {});
		account.connections++;
		return callOnce(() => {
			account.connections--;
			this.#leave(grant, account);
		});
	}

	/** The account a process table is charged to; call `leave` when the table is disposed. */
	open(grant: Grant | undefined): {readonly account?: Account; readonly leave: () => void} {
		if (!grant) return {leave: () => {}};
		const account = this.#take(grant);
		return {account, leave: callOnce(() => this.#leave(grant, account))};
	}

	#take({name}: Grant): Account {
		let account = this.#accounts.get(name);
		if (!account) {
			account = new Account(name, this.#budgets);
			this.#accounts.set(name, account);
		}
		account.users++;
		return account;
	}

	#leave({name}: Grant, account: Account): void {
		if (--account.users === 0) this.#accounts.delete(name);
	}
}

/** Guards against a double release: a session may be destroyed twice. */
function callOnce(callback: () => void): () => void {
	let isDone = false;
	return () => {
		if (!isDone) callback();
		isDone = true;
	};
}
