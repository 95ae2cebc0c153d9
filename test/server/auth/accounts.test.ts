import {expect, test} from 'vitest';
import {InputBudget} from '../../../src/processes/input-budget.js';
import {RetentionBudget} from '../../../src/processes/output/retention-budget.js';
import {Accounts} from '../../../src/server/auth/accounts.js';

const grant = {name: 'ci', limits: {maxConnections: 1}};

const accounts = (): Accounts => new Accounts({retained: new RetentionBudget(1024), input: new InputBudget()});

test('a connection counts until it is over, and is given back once', () => {
	const all = accounts();
	const leave = all.connect(grant);
	expect(all.hasRoom(grant)).toBe(false);
	leave();
	expect(all.hasRoom(grant)).toBe(true);
	const leaveSecond = all.connect(grant);
	// Reported twice, it must not make room for a connection that is still there.
	leave();
	expect(all.hasRoom(grant)).toBe(false);
	leaveSecond();
	expect(all.hasRoom(grant)).toBe(true);
});

test('an account is shared by everything of its name, and forgotten with the last of it', () => {
	const all = accounts();
	const leaveConnection = all.connect(grant);
	const session = all.open(grant);
	leaveConnection();
	const other = all.open(grant);
	expect(other.account).toBe(session.account);
	session.leave();
	other.leave();
	// A name that is used again starts with an account of its own: what is not forgotten would stay for ever.
	expect(all.open(grant).account).not.toBe(session.account);
});
