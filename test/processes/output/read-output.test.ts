import {setImmediate} from 'node:timers/promises';
import * as fc from 'fast-check';
import {describe, expect, test, vi} from 'vitest';
import {type Chunk, OutputLog, type OutputPage} from '../../../src/processes/output/output-log.js';
import {type ReadRequest, readOutput, waitForExit} from '../../../src/processes/output/read-output.js';
import {Lifetime} from '../../../src/shared/async/lifetime.js';
import {stopClock} from '../../helpers/clock.js';

const FOREVER_MS = 10 ** 9;

/** A log that knows how many watch it. */
class CountingLog extends OutputLog {
	watchers = 0;

	override watch(wake: () => void): () => void {
		this.watchers++;
		const stop = super.watch(wake);
		return () => {
			this.watchers--;
			stop();
		};
	}
}

function newLog(): CountingLog {
	return new CountingLog({bytes: 1024, chunks: 100});
}

function say(log: OutputLog, text: string): Chunk {
	const bytes = Buffer.from(text);
	log.append('stdout', bytes);
	return {seq: log.nextSeq - 1, stream: 'stdout', bytes};
}

function timers(): number {
	return process.getActiveResourcesInfo().filter(name => name === 'Timeout').length;
}

/** Timers of earlier tests may end meanwhile. */
function addedTimers(before: number): number {
	return Math.max(0, timers() - before);
}

/** A read under way, and its page once there is one. */
class Reading {
	page: OutputPage | undefined;
	readonly scope = new Lifetime();
	readonly finished: Promise<void>;

	constructor(log: OutputLog, request: Partial<ReadRequest>) {
		const answer = readOutput(
			log,
			{afterSeq: 0, maxBytes: undefined, waitMs: FOREVER_MS, ...request},
			this.scope,
			page => page,
		);
		if (!(answer instanceof Promise)) this.page = answer;
		this.finished = this.#finish(answer);
	}

	async #finish(answer: OutputPage | Promise<OutputPage>): Promise<void> {
		this.page = await answer;
	}

	/** The page if the read is over by now. */
	async now(): Promise<OutputPage | undefined> {
		await setImmediate();
		return this.page;
	}
}

describe('a read returns at once', () => {
	test('when nobody wants to wait, even with nothing to say', () => {
		const log = newLog();
		expect(readOutput(log, {afterSeq: 0, maxBytes: undefined, waitMs: 0}, new Lifetime(), page => page)).toEqual({
			chunks: [],
			nextSeq: 1,
			missedBytes: 0,
		});
	});

	test('when there is output after the cursor', () => {
		const log = newLog();
		say(log, 'old');
		const chunk = say(log, 'new');
		expect(new Reading(log, {afterSeq: 1}).page).toEqual({chunks: [chunk], nextSeq: 3, missedBytes: 0});
	});

	test('when the exit is newer than the cursor', () => {
		const log = newLog();
		say(log, 'output');
		log.recordExit({exitCode: 0, reason: 'exit'});
		expect(new Reading(log, {afterSeq: 1}).page).toEqual({chunks: [], nextSeq: 3, missedBytes: 0});
	});

	test('when everything is over, wherever the cursor is', () => {
		const log = newLog();
		log.recordExit({exitCode: 0, reason: 'exit'});
		log.recordClose();
		for (const afterSeq of [0, 1, 2, 99]) {
			expect(new Reading(log, {afterSeq}).page).toEqual({chunks: [], nextSeq: 3, missedBytes: 0});
		}
	});
});

describe('a read waits', () => {
	test('for output, and honours the page size when it comes', async () => {
		const log = newLog();
		const reading = new Reading(log, {maxBytes: 4});
		expect(await reading.now()).toBeUndefined();
		const chunk = say(log, 'longer than four');
		say(log, 'more');
		expect(await reading.now()).toEqual({chunks: [chunk], nextSeq: 2, missedBytes: 0});
	});

	test('for the exit', async () => {
		const log = newLog();
		const reading = new Reading(log, {});
		expect(await reading.now()).toBeUndefined();
		log.recordExit({exitCode: 3, reason: 'exit'});
		expect(await reading.now()).toEqual({chunks: [], nextSeq: 2, missedBytes: 0});
	});

	test('after an exit it knows of until late output comes', async () => {
		const log = newLog();
		log.recordExit({exitCode: 0, reason: 'exit'});
		const reading = new Reading(log, {afterSeq: 1});
		expect(await reading.now()).toBeUndefined();
		const chunk = say(log, 'late');
		expect(await reading.now()).toEqual({chunks: [chunk], nextSeq: 3, missedBytes: 0});
	});

	test('after an exit it knows of until the close', async () => {
		const log = newLog();
		log.recordExit({exitCode: 0, reason: 'exit'});
		const reading = new Reading(log, {afterSeq: 1});
		expect(await reading.now()).toBeUndefined();
		log.recordClose();
		expect(await reading.now()).toEqual({chunks: [], nextSeq: 3, missedBytes: 0});
	});

	test('until its deadline and then returns what there is', async () => {
		stopClock();
		const log = newLog();
		say(log, 'old');
		const reading = new Reading(log, {afterSeq: 1, waitMs: 5});
		vi.advanceTimersByTime(4);
		expect(await reading.now()).toBeUndefined();
		vi.advanceTimersByTime(1);
		await reading.finished;
		expect(reading.page).toEqual({chunks: [], nextSeq: 2, missedBytes: 0});
	});

	test('through a wait that is longer than any timer', async () => {
		stopClock();
		const log = newLog();
		const reading = new Reading(log, {waitMs: 2 ** 40});
		// A timer that overflows fires after 1 ms.
		vi.advanceTimersByTime(1000);
		expect(await reading.now()).toBeUndefined();
		reading.scope.close();
	});

	test('together with others, and one event serves them all', async () => {
		const log = newLog();
		const readings = [new Reading(log, {}), new Reading(log, {}), new Reading(log, {afterSeq: 1})];
		const chunk = say(log, 'hello');
		await setImmediate();
		const page = {chunks: [chunk], nextSeq: 2, missedBytes: 0};
		expect(readings.map(reading => reading.page)).toEqual([page, page, undefined]);
		for (const {scope} of readings) scope.close();
	});
});

describe('nothing is left behind', () => {
	test('when the news comes, when the deadline comes, or when the scope closes', async () => {
		const log = newLog();
		const before = timers();

		const served = new Reading(log, {});
		expect({timers: timers(), watchers: log.watchers}).toEqual({timers: before + 1, watchers: 1});
		say(log, 'news');
		expect({timers: timers(), watchers: log.watchers}).toEqual({timers: before, watchers: 0});
		await served.finished;

		const late = new Reading(log, {afterSeq: 1, waitMs: 1});
		await late.finished;
		expect(log.watchers).toBe(0);

		const cancelled = new Reading(log, {afterSeq: 1});
		const during = timers();
		cancelled.scope.close();
		expect({timers: timers(), watchers: log.watchers}).toEqual({timers: during - 1, watchers: 0});
		say(log, 'too late');
		expect(await cancelled.now()).toBeUndefined();
	});

	test('when the scope is closed already', async () => {
		const log = newLog();
		const before = timers();
		const scope = new Lifetime();
		scope.close();
		let settled = false;
		const settle = (): void => {
			settled = true;
		};
		const request = {afterSeq: 0, maxBytes: undefined, waitMs: FOREVER_MS};
		void Promise.resolve(readOutput(log, request, scope, settle)).then(settle, settle);
		expect({timers: timers(), watchers: log.watchers}).toEqual({timers: before, watchers: 0});
		say(log, 'too late');
		await setImmediate();
		expect(settled).toBe(false);
	});

	test('in the scope, once the read is over', async () => {
		const log = newLog();
		const reading = new Reading(log, {});
		say(log, 'news');
		const other = new Reading(log, {afterSeq: 1});
		reading.scope.close();
		expect(log.watchers).toBe(1);
		other.scope.close();
	});
});

test('a read ends with the very event at which the loop of the specification returns', async () => {
	const happening = fc.constantFrom('output', 'exit', 'close');
	const request = fc.record({afterSeq: fc.nat(6), maxBytes: fc.option(fc.nat(3), {nil: undefined})});
	await fc.assert(
		fc.asyncProperty(
			fc.array(happening, {maxLength: 8}),
			fc.nat(8),
			request,
			async (events, startAt, {afterSeq, maxBytes}) => {
				const log = newLog();
				let reading: Reading | undefined;
				let expected: OutputPage | undefined;
				const look = (): void => {
					if (!reading || expected) return;
					const page = log.read(afterSeq, maxBytes);
					const exitIsNews = log.exit !== undefined && afterSeq < page.nextSeq - 1;
					if (page.chunks.length > 0 || log.closedSeq !== undefined || exitIsNews) expected = page;
				};
				for (const [index, event] of [...events, 'nothing'].entries()) {
					if (index === startAt) reading = new Reading(log, {afterSeq, maxBytes});
					look();
					if (event === 'output' && log.closedSeq === undefined) say(log, 'x');
					if (event === 'exit' && !log.exit) log.recordExit({exitCode: 0, reason: 'exit'});
					if (event === 'close' && log.exit && log.closedSeq === undefined) log.recordClose();
					look();
					await setImmediate();
					expect(reading?.page).toEqual(expected);
				}
				reading?.scope.close();
			},
		),
	);
});

/** The state of a wait. */
function outcome(wait: void | Promise<void>): {now: () => Promise<string>} {
	let state = 'pending';
	Promise.resolve(wait).then(
		() => (state = 'settled'),
		() => (state = 'failed'),
	);
	return {
		now: async () => {
			await setImmediate();
			return state;
		},
	};
}

describe('a wait for the exit', () => {
	test('output does not end a wait; the exit does, and leaves nothing behind', async () => {
		const log = newLog();
		const before = timers();
		const wait = outcome(waitForExit(log, 1_000_000, new Lifetime()));
		log.append('stdout', new Uint8Array(1));
		expect([await wait.now(), log.watchers, timers()]).toEqual(['pending', 1, before + 1]);
		log.recordExit({exitCode: 0, reason: 'exit'});
		expect([await wait.now(), log.watchers, addedTimers(before)]).toEqual(['settled', 0, 0]);
		expect(waitForExit(log, undefined, new Lifetime())).toBeUndefined();
	});

	test('the end of its scope ends a wait without an answer, and leaves nothing behind', async () => {
		const log = newLog();
		const before = timers();
		const scope = new Lifetime();
		const wait = outcome(waitForExit(log, 1_000_000, scope));
		scope.close();
		log.recordExit({exitCode: 0, reason: 'exit'});
		expect([await wait.now(), log.watchers, addedTimers(before)]).toEqual(['pending', 0, 0]);
	});

	test('in a scope that is over nobody waits and nobody is answered', async () => {
		const log = newLog();
		const before = timers();
		const scope = new Lifetime();
		scope.close();
		const wait = outcome(waitForExit(log, 1_000_000, scope));
		expect([await wait.now(), log.watchers, addedTimers(before)]).toEqual(['pending', 0, 0]);
		log.recordExit({exitCode: 0, reason: 'exit'});
		expect([await wait.now(), log.watchers, addedTimers(before)]).toEqual(['pending', 0, 0]);
	});
});
