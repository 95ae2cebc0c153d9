import * as fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {InputBudget, MAX_OWNER_QUEUED_BYTES, MAX_OWNER_WAITING_BYTES} from '../../src/processes/input-budget.js';
import {
	MAX_QUEUED_STDIN_BYTES,
	MAX_QUEUED_STDIN_CHUNKS,
	MAX_REMEMBERED_WRITE_IDS,
	MAX_WAITING_STDIN_BYTES,
	StdinQueue,
} from '../../src/processes/stdin-queue.js';
import {FakeWriter} from '../helpers/fake-writer.js';
import {waitTicks} from '../helpers/ticks.js';

/** Views of one buffer: large chunks cost nothing. */
const plenty = new Uint8Array(MAX_WAITING_STDIN_BYTES);
const MEBIBYTE = 1024 * 1024;

function text(value: string): Uint8Array {
	return Buffer.from(value);
}

function setup(): {stdin: StdinQueue; writer: FakeWriter; write: (chunk: string, writeId?: string) => Write} {
	const writer = new FakeWriter();
	const stdin = new StdinQueue('p', writer);
	return {stdin, writer, write: (chunk, writeId) => new Write(stdin, text(chunk), writeId)};
}

/** A write and what came of it. */
class Write {
	/** `waiting`, `accepted` or the code of the refusal. */
	status = 'waiting';

	constructor(stdin: StdinQueue, bytes: Uint8Array, writeId?: string) {
		const refused = (error: unknown): void => {
			this.status = (error as {code: string}).code;
		};
		const accepted = (): void => {
			this.status = 'accepted';
		};
		try {
			const result = stdin.write(bytes, writeId);
			if (result) result.then(accepted, refused);
			else accepted();
		} catch (error) {
			refused(error);
		}
	}
}

describe('order and bounds', () => {
	test('chunks reach the child in the order of the calls, empty ones too', () => {
		const {writer, write} = setup();
		for (const chunk of ['one', '', 'two', 'three']) expect(write(chunk).status).toBe('accepted');
		expect(writer.texts).toEqual(['one', '', 'two', 'three']);
	});

	test(`the write after ${MAX_QUEUED_STDIN_CHUNKS} chunks waits until one of them is through`, async () => {
		const {writer, write} = setup();
		const first = Array.from({length: MAX_QUEUED_STDIN_CHUNKS}, (_, index) => write(`${index}`));
		const [next, afterNext] = [write('next'), write('after next')];
		await waitTicks(1);
		expect(first.filter(({status}) => status !== 'accepted')).toEqual([]);
		expect([next.status, afterNext.status, writer.texts.length]).toEqual([
			'waiting',
			'waiting',
			MAX_QUEUED_STDIN_CHUNKS,
		]);
		writer.finish();
		await waitTicks(1);
		expect([next.status, afterNext.status, writer.texts.at(-1)]).toEqual(['accepted', 'waiting', 'next']);
	});

	test('the queue is bounded in bytes too, but takes at least one chunk of any size', async () => {
		const writer = new FakeWriter();
		const stdin = new StdinQueue('p', writer);
		const huge = new Write(stdin, plenty.subarray(0, MAX_QUEUED_STDIN_BYTES));
		const small = new Write(stdin, plenty.subarray(0, 1));
		await waitTicks(1);
		expect([huge.status, small.status]).toEqual(['accepted', 'waiting']);
		writer.finish();
		await waitTicks(1);
		expect(small.status).toBe('accepted');
	});

	test('any mix of sizes and progress keeps the order and both bounds, and nobody waits without need', async () => {
		const size = fc.oneof(
			fc.nat(100),
			fc.integer({min: 1, max: 6}).map(count => count * MEBIBYTE),
		);
		const step = fc.oneof(
			{weight: 1, arbitrary: fc.record({finish: fc.nat(90)})},
			{weight: 2, arbitrary: fc.record({sizes: fc.array(size, {maxLength: 90})})},
		);
		const start = fc.array(fc.nat(100), {maxLength: MAX_QUEUED_STDIN_CHUNKS});
		await fc.assert(
			fc.asyncProperty(start, fc.array(step, {maxLength: 8}), async (first, steps) => {
				const writer = new FakeWriter();
				const stdin = new StdinQueue('p', writer);
				const writes: {write: Write; size: number}[] = [];
				let admitted = 0;
				let finished = 0;
				for (const next of [{sizes: first}, ...steps]) {
					if ('finish' in next) {
						for (let count = 0; count < next.finish && finished < admitted; count++) {
							writer.finish();
							finished++;
							admitted = admit(writes, finished, admitted);
						}
					} else {
						for (const each of next.sizes) {
							const waiting = writes.slice(admitted).reduce((sum, write) => sum + write.size, 0);
							if (waiting + each > MAX_WAITING_STDIN_BYTES) continue;
							writes.push({write: new Write(stdin, plenty.subarray(0, each)), size: each});
							admitted = admit(writes, finished, admitted);
						}
					}
					await waitTicks(1);
					expect(writer.written.map(bytes => bytes.length)).toEqual(writes.slice(0, admitted).map(write => write.size));
					expect(writes.map(({write}) => write.status === 'accepted')).toEqual(
						writes.map((_, index) => index < admitted),
					);
				}
			}),
			{numRuns: 60},
		);
	});
});

/** Number of writes passed to the child: in order, while both bounds allow more. */
function admit(writes: readonly {size: number}[], finished: number, admitted: number): number {
	let count = admitted;
	const underWay = (): number => writes.slice(finished, count).reduce((sum, {size}) => sum + size, 0);
	while (count < writes.length && count - finished < MAX_QUEUED_STDIN_CHUNKS && underWay() < MAX_QUEUED_STDIN_BYTES)
		count++;
	return count;
}

describe('repeated writes', () => {
	test('an accepted id is accepted again and writes nothing', () => {
		const {writer, write} = setup();
		const statuses = [write('a', 'id'), write('b', 'id'), write('c', 'other')].map(({status}) => status);
		expect(statuses).toEqual(['accepted', 'accepted', 'accepted']);
		expect(writer.texts).toEqual(['a', 'c']);
	});

	test('writes without an id are never taken for one another', () => {
		const {writer, write} = setup();
		write('same');
		write('same');
		expect(writer.texts).toEqual(['same', 'same']);
	});

	test('a repeated id that waits for a place is looked at again when its turn comes', async () => {
		const {writer, write} = setup();
		for (let index = 0; index < MAX_QUEUED_STDIN_CHUNKS; index++) write('full');
		const workers = [write('a', 'id'), write('b', 'id'), write('c', 'id')];
		const last = write('last');
		await waitTicks(1);
		expect(workers.map(({status}) => status)).toEqual(['waiting', 'waiting', 'waiting']);
		writer.finish();
		await waitTicks(1);
		// The queue is full again after the first of them; the rest are known, but in line.
		expect([...workers, last].map(({status}) => status)).toEqual(['accepted', 'waiting', 'waiting', 'waiting']);
		writer.finish();
		await waitTicks(1);
		expect([...workers, last].map(({status}) => status)).toEqual(['accepted', 'accepted', 'accepted', 'accepted']);
		expect(writer.texts.slice(MAX_QUEUED_STDIN_CHUNKS)).toEqual(['a', 'last']);
	});

	test('an accepted id is accepted at once although the queue is full', () => {
		const {write} = setup();
		write('first', 'id');
		for (let index = 0; index < MAX_QUEUED_STDIN_CHUNKS; index++) write('full');
		expect(write('again', 'id').status).toBe('accepted');
	});

	test(`${MAX_REMEMBERED_WRITE_IDS} ids are remembered, the oldest forgotten first`, () => {
		const {writer, write} = setup();
		writer.immediate = true;
		for (let index = 0; index <= MAX_REMEMBERED_WRITE_IDS; index++) write('x', `${index}`);
		// A repetition does not make an id any younger.
		write('known', '1');
		write('known', `${MAX_REMEMBERED_WRITE_IDS}`);
		expect(writer.texts.length).toBe(MAX_REMEMBERED_WRITE_IDS + 1);
		write('forgotten', '0');
		write('forgotten since', '1');
		expect(writer.texts.slice(MAX_REMEMBERED_WRITE_IDS + 1)).toEqual(['forgotten', 'forgotten since']);
	});
});

describe('the end of the child', () => {
	test('writes after the child has exited are accepted and vanish', () => {
		const {stdin, writer, write} = setup();
		write('before');
		stdin.discardWrites();
		expect([write('after').status, write('again', 'id').status]).toEqual(['accepted', 'accepted']);
		expect({texts: writer.texts, destroyed: writer.destroyed}).toEqual({texts: ['before'], destroyed: 1});
	});

	test('writes that wait when the child exits are accepted and vanish', async () => {
		const {stdin, writer, write} = setup();
		for (let index = 0; index < MAX_QUEUED_STDIN_CHUNKS; index++) write('full');
		const waiting = [write('a'), write('b')];
		stdin.discardWrites();
		await waitTicks(1);
		expect(waiting.map(({status}) => status)).toEqual(['accepted', 'accepted']);
		expect(writer.destroyed).toBe(1);
	});

	test('after a terminate only ids that were accepted before are accepted', async () => {
		const {stdin, writer, write} = setup();
		write('known', 'known');
		for (let index = 0; index < MAX_QUEUED_STDIN_CHUNKS; index++) write('full');
		const waiting = write('waiting', 'waiting');
		stdin.rejectWrites();
		stdin.discardWrites();
		await waitTicks(1);
		const later = [write('known', 'known'), write('waiting', 'waiting'), write('new')];
		expect([waiting, ...later].map(({status}) => status)).toEqual([
			'STDIN_FAILED',
			'accepted',
			'STDIN_FAILED',
			'STDIN_FAILED',
		]);
		expect({destroyed: writer.destroyed, written: writer.texts.length}).toEqual({
			destroyed: 1,
			written: MAX_QUEUED_STDIN_CHUNKS,
		});
	});

	test('any number of waiting writes goes through at once when the writer stops holding them up', async () => {
		const {stdin, writer, write} = setup();
		for (let index = 0; index < MAX_QUEUED_STDIN_CHUNKS; index++) write('full');
		const waiting = Array.from({length: 20_000}, () => write('x'));
		writer.immediate = true;
		writer.finish();
		await waitTicks(1);
		expect(waiting.filter(({status}) => status !== 'accepted')).toEqual([]);
		expect(writer.texts.length).toBe(MAX_QUEUED_STDIN_CHUNKS + waiting.length);
		stdin.discardWrites();
	});

	test('any number of waiting writes is accepted when the child exits', async () => {
		const {stdin, write} = setup();
		for (let index = 0; index < MAX_QUEUED_STDIN_CHUNKS; index++) write('full');
		const waiting = Array.from({length: 20_000}, () => write('x'));
		stdin.discardWrites();
		await waitTicks(1);
		expect(waiting.filter(({status}) => status !== 'accepted')).toEqual([]);
	});
});

test('a write beyond the backlog is refused with its reason, and the earlier ones are kept', async () => {
	const {stdin, writer, write} = setup();
	for (let index = 0; index < MAX_QUEUED_STDIN_CHUNKS; index++) write('full');
	const large = new Write(stdin, plenty.subarray(0, MAX_WAITING_STDIN_BYTES - 4));
	const fits = write('fits', 'fits');
	expect(() => stdin.write(text('x'), 'refused')).toThrow(
		expect.objectContaining({
			code: 'STDIN_BACKLOG_FULL',
			context: {processId: 'p', waitingBytes: MAX_WAITING_STDIN_BYTES, limit: MAX_WAITING_STDIN_BYTES},
		}),
	);
	for (let index = 0; index < MAX_QUEUED_STDIN_CHUNKS; index++) writer.finish();
	writer.finish();
	await waitTicks(1);
	expect([large.status, fits.status, writer.lastText]).toEqual(['accepted', 'accepted', 'fits']);
	writer.finish();
	// A write that no longer waits does not count.
	for (let index = 0; index < MAX_QUEUED_STDIN_CHUNKS; index++) write('full');
	expect(new Write(stdin, plenty.subarray(0, MAX_WAITING_STDIN_BYTES)).status).toBe('waiting');
});

test('a refused id can be sent again', async () => {
	const {stdin, writer, write} = setup();
	for (let index = 0; index < MAX_QUEUED_STDIN_CHUNKS; index++) write('full');
	const large = new Write(stdin, plenty);
	expect(write('x', 'refused').status).toBe('STDIN_BACKLOG_FULL');
	for (let index = 0; index <= MAX_QUEUED_STDIN_CHUNKS; index++) writer.finish();
	await waitTicks(1);
	expect(large.status).toBe('accepted');
	expect([write('x', 'refused').status, writer.lastText]).toEqual(['accepted', 'x']);
});

/** Queues of several processes of one owner, and their writers. */
function processes(count: number, budget = new InputBudget(new InputBudget())) {
	return Array.from({length: count}, () => {
		const writer = new FakeWriter();
		const stdin = new StdinQueue('p', writer, budget);
		return {writer, stdin, write: (bytes: number) => new Write(stdin, plenty.subarray(0, bytes))};
	});
}

describe('the unread input of one owner', () => {
	test('is bounded over all its processes, each of which may have some', async () => {
		const all = processes(10);
		const filled = all.map(({write}) => [write(8 * MEBIBYTE), write(8 * MEBIBYTE)]);
		const accepted = filled.flat().filter(({status}) => status === 'accepted');
		expect(filled.every(([first]) => first!.status === 'accepted')).toBe(true);
		expect(accepted.length * 8 * MEBIBYTE).toBeLessThanOrEqual(MAX_OWNER_QUEUED_BYTES + all.length * 8 * MEBIBYTE);
		expect(filled.at(-1)![1]!.status).toBe('waiting');
		all.at(-1)!.writer.finish();
		await waitTicks(1);
		expect(filled.at(-1)![1]!.status).toBe('accepted');
	});

	test('is given back when its processes are gone, and writes beyond what may wait are refused', () => {
		const budget = new InputBudget(new InputBudget());
		const all = processes(MAX_OWNER_WAITING_BYTES / MAX_WAITING_STDIN_BYTES + 1, budget);
		for (const {write} of all) while (write(MAX_QUEUED_STDIN_BYTES).status === 'accepted');
		const refused = all.flatMap(({write}) =>
			Array.from({length: MAX_WAITING_STDIN_BYTES / MAX_QUEUED_STDIN_BYTES}, () => write(MAX_QUEUED_STDIN_BYTES)),
		);
		expect(refused.at(-1)!.status).toBe('STDIN_BACKLOG_FULL');
		for (const {stdin} of all) stdin.discardWrites();
		expect([budget.hasRoom, budget.mayWait(MAX_OWNER_WAITING_BYTES)]).toEqual([true, true]);
	});

	test('does not keep another owner from writing', () => {
		const server = new InputBudget();
		const [first] = processes(1, new InputBudget(server));
		while (first!.write(MAX_QUEUED_STDIN_BYTES).status !== 'STDIN_BACKLOG_FULL');
		const [other] = processes(1, new InputBudget(server));
		expect([other!.write(MEBIBYTE).status, other!.write(MEBIBYTE).status]).toEqual(['accepted', 'accepted']);
	});
});
