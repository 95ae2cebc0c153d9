import * as fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import type {DriverCursor} from '../../../src/processes/output/log-cursor.js';
import {OutputLog} from '../../../src/processes/output/output-log.js';
import {RetentionBudget} from '../../../src/processes/output/retention-budget.js';
import {served} from '../../helpers/process-api.js';
import {eventually} from '../../helpers/processes.js';

const PLENTY = {bytes: 10 ** 9, chunks: 10 ** 9};

/** Logs under one budget, each with what its name says it holds: `{a: 30}` is a log of three chunks of ten. */
function logs<const Name extends string>(
	limit: number,
	sizes: Record<Name, number>,
): {budget: RetentionBudget; log: Record<Name, OutputLog>; kept: () => Record<Name, number>} {
	const budget = new RetentionBudget(limit);
	const names = Object.keys(sizes) as Name[];
	const log = Object.fromEntries(names.map(name => [name, new OutputLog({...PLENTY, budget})])) as Record<
		Name,
		OutputLog
	>;
	for (const name of names) {
		for (let size = 0; size < sizes[name]; size += 10) log[name].append('stdout', new Uint8Array(10));
	}
	const kept = (): Record<Name, number> =>
		Object.fromEntries(names.map(name => [name, log[name].retainedBytes])) as Record<Name, number>;
	return {budget, log, kept};
}

function close(log: OutputLog): void {
	log.recordExit({exitCode: 0, reason: 'exit'});
	log.recordClose();
}

describe('when all processes together keep too much', () => {
	test('closed ones give first, in the order of their first output, however little they keep', () => {
		const {log, kept} = logs(160, {open: 100, first: 20, second: 20, third: 20});
		for (const name of ['third', 'second', 'first'] as const) close(log[name]);
		log.open.append('stdout', new Uint8Array(10));
		// Ten too much, and a sixteenth of the limit more, so that the next byte does not start the search again.
		expect(kept()).toEqual({open: 110, first: 0, second: 20, third: 20});
		log.open.append('stdout', new Uint8Array(20));
		expect(kept()).toEqual({open: 130, first: 0, second: 0, third: 20});
	});

	test('then the one that keeps most gives, its oldest output first', () => {
		const {budget, log, kept} = logs(160, {small: 20, large: 90, middle: 50});
		log.small.append('stdout', new Uint8Array(10));
		expect(kept()).toEqual({small: 30, large: 70, middle: 50});
		expect(log.large.read(0)).toMatchObject({chunks: {0: {seq: 3}, length: 7}, missedBytes: 20});
		expect(budget.totalBytes).toBe(150);
	});

	test('a process that exceeds the limit by itself keeps its end', () => {
		const {log, kept} = logs(100, {only: 100});
		log.only.append('stderr', new Uint8Array(90));
		expect(kept()).toEqual({only: 90});
		log.only.append('stderr', new Uint8Array(101));
		expect(kept()).toEqual({only: 0});
	});

	test('output that a connection has yet to get is never given up, and goes as soon as the connection has it', () => {
		const {budget, log, kept} = logs(100, {delivered: 0, other: 90});
		const cursor = log.delivered.drive(() => {});
		for (let count = 0; count < 20; count++) log.delivered.append('stdout', new Uint8Array(10));
		expect(kept()).toEqual({delivered: 200, other: 0});
		for (let count = 0; count < 20; count++) expect(cursor.next()).toMatchObject({kind: 'output', seq: count + 1});
		cursor.commit();
		expect([kept().delivered <= 100, budget.totalBytes]).toEqual([true, kept().delivered]);
	});

	test('nobody gives for a process that stays within its own bounds', () => {
		const budget = new RetentionBudget(200);
		const [other, busy] = [new OutputLog({...PLENTY, budget}), new OutputLog({bytes: 50, chunks: 100, budget})];
		for (let count = 0; count < 15; count++) other.append('stdout', new Uint8Array(10));
		for (let count = 0; count < 1000; count++) busy.append('stdout', new Uint8Array(10));
		expect([other.retainedBytes, busy.retainedBytes, budget.totalBytes]).toEqual([150, 50, 200]);
	});
});

type Step =
	| {readonly kind: 'append'; readonly log: number; readonly size: number}
	| {readonly kind: 'attach' | 'deliver' | 'detach' | 'close' | 'dispose'; readonly log: number};

const COUNT = 4;
const LIMIT = 200;
const step: fc.Arbitrary<Step> = fc.oneof(
	{weight: 6, arbitrary: fc.record({kind: fc.constant('append'), log: fc.nat(COUNT - 1), size: fc.nat(80)})},
	{
		weight: 4,
		arbitrary: fc.record({
			kind: fc.constantFrom('attach', 'deliver', 'detach', 'close', 'dispose'),
			log: fc.nat(COUNT - 1),
		}),
	},
);

/** A log and what the property has to know of it. */
class Tracked {
	readonly log: OutputLog;
	cursor: DriverCursor | undefined;
	disposed = false;

	constructor(budget: RetentionBudget) {
		this.log = new OutputLog({bytes: 120, chunks: 5, budget});
	}

	run(next: Step): void {
		switch (next.kind) {
			case 'append':
				if (this.log.closedSeq === undefined) this.log.append('stdout', new Uint8Array(next.size));
				return;
			case 'attach':
				this.cursor = this.log.drive(() => {});
				return;
			case 'deliver':
				this.cursor?.next();
				this.cursor?.commit();
				return;
			case 'detach':
				this.cursor?.close();
				this.cursor = undefined;
				return;
			case 'close':
				if (!this.log.exit) close(this.log);
				return;
			case 'dispose':
				this.disposed = true;
				this.log.dispose();
		}
	}

	get undelivered(): number {
		return this.cursor?.pendingBytes ?? 0;
	}
}

test('the total is the sum of what the logs keep, and within the limit but for what is yet to be delivered', () => {
	fc.assert(
		fc.property(fc.array(step, {maxLength: 80}), steps => {
			const budget = new RetentionBudget(LIMIT);
			const tracked = Array.from({length: COUNT}, () => new Tracked(budget));
			for (const next of steps) {
				tracked[next.log]!.run(next);
				const counted = tracked.filter(({disposed}) => !disposed);
				const sum = counted.reduce((total, {log}) => total + log.retainedBytes, 0);
				const undelivered = counted.reduce((total, each) => total + each.undelivered, 0);
				expect(budget.totalBytes).toBe(sum);
				expect(budget.totalBytes).toBeLessThanOrEqual(Math.max(LIMIT, undelivered));
			}
		}),
		{numRuns: 500},
	);
});

test('a session that ends in the middle of a flood leaves nothing in the account', async () => {
	const {server, client} = await served({detachedSessionMs: 0});
	for (let count = 0; count < 5; count++) await client.start(`p${count}`, ['/usr/bin/yes']);
	for (let count = 0; count < 5; count++) await client.shows(`p${count}`, 'y\ny\n');
	expect(server.health()['retainedBytes']).toBeGreaterThan(0);
	client.rpc.destroy();
	await eventually(() => server.health()['processes'] === 0);
	await eventually(() => server.health()['retainedBytes'] === 0);
	expect(server.health()).toMatchObject({sessions: 0, processes: 0, retainedBytes: 0});
});

/** A log with so many chunks of ten bytes under the budget. */
function filled(budget: RetentionBudget, bytes: number): OutputLog {
	const log = new OutputLog({...PLENTY, budget});
	for (let size = 0; size < bytes; size += 10) log.append('stdout', new Uint8Array(10));
	return log;
}

describe('a budget that is part of a larger one', () => {
	test('frees for itself what it has too much, which is gone from the whole as well', () => {
		const whole = new RetentionBudget(1000);
		const part = new RetentionBudget(100, whole);
		const other = filled(whole, 200);
		const log = filled(part, 110);
		expect([log.retainedBytes, part.totalBytes, other.retainedBytes, whole.totalBytes]).toEqual([90, 90, 200, 290]);
	});

	test('gives what the whole takes from it', () => {
		const whole = new RetentionBudget(200);
		const part = new RetentionBudget(180, whole);
		const log = filled(part, 150);
		const other = filled(whole, 60);
		expect(whole.totalBytes).toBeLessThanOrEqual(200);
		expect(part.totalBytes).toBe(log.retainedBytes);
		expect(whole.totalBytes).toBe(log.retainedBytes + other.retainedBytes);
	});

	test('forgets a log in both', () => {
		const whole = new RetentionBudget(1000);
		const part = new RetentionBudget(1000, whole);
		const log = filled(part, 50);
		log.dispose();
		log.append('stdout', new Uint8Array(10));
		expect([part.totalBytes, whole.totalBytes]).toEqual([0, 0]);
	});

	test('made smaller, frees at once', () => {
		const whole = new RetentionBudget(1000);
		const part = new RetentionBudget(1000, whole);
		const log = filled(part, 200);
		part.resize(100);
		expect([log.retainedBytes, part.totalBytes, whole.totalBytes]).toEqual([90, 90, 90]);
	});

	test('agrees with its logs whatever happens to them', () => {
		const move = fc.record({
			log: fc.nat(5),
			bytes: fc.integer({min: 1, max: 90}),
			act: fc.constantFrom('append', 'append', 'append', 'dispose', 'resize'),
		});
		fc.assert(
			fc.property(fc.array(move, {maxLength: 80}), moves => {
				const whole = new RetentionBudget(400);
				const parts = [new RetentionBudget(150, whole), new RetentionBudget(300, whole)];
				const all = Array.from({length: 6}, (_, index) => ({
					part: parts[index % 2]!,
					log: new OutputLog({...PLENTY, budget: parts[index % 2]!}),
					live: true,
				}));
				for (const {log, bytes, act} of moves) {
					const chosen = all[log]!;
					if (act === 'append') chosen.log.append('stdout', new Uint8Array(bytes));
					else if (act === 'resize') chosen.part.resize(bytes * 3);
					else {
						chosen.log.dispose();
						chosen.live = false;
					}
					const sum = (part?: RetentionBudget): number =>
						all
							.filter(each => each.live && (!part || each.part === part))
							.reduce((total, each) => total + each.log.retainedBytes, 0);
					expect([whole.totalBytes, ...parts.map(part => part.totalBytes)]).toEqual([
						sum(),
						...parts.map(part => sum(part)),
					]);
					expect(whole.totalBytes).toBeLessThanOrEqual(400);
				}
			}),
		);
	});
});
