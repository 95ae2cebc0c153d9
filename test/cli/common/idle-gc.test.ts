import {Script} from 'node:vm';
import {expect, onTestFinished, test, vi} from 'vitest';
import {collectGarbageWhenIdle} from '../../../src/cli/common/idle-gc.js';
import {type Logger, silentLogger} from '../../../src/shared/logger.js';

const CHECK_MS = 5000;
const MIB = 1024 * 1024;

/** A program with so much memory that looks idle, and the number of its collections so far. */
function idleProgram() {
	vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval']});
	onTestFinished(() => {
		vi.useRealTimers();
		vi.restoreAllMocks();
	});
	const state = {mib: 60, holders: 3, collections: 0};
	vi.spyOn(process.memoryUsage, 'rss').mockImplementation(() => state.mib * MIB);
	vi.spyOn(performance, 'eventLoopUtilization').mockReturnValue({idle: 1, active: 0, utilization: 0});
	const logger: Logger = {...silentLogger, debug: () => void state.collections++};
	collectGarbageWhenIdle(logger, () => [state.holders]);
	return Object.assign(state, {
		pass: (checks: number): number => {
			const before = state.collections;
			vi.advanceTimersByTime(checks * CHECK_MS);
			return state.collections - before;
		},
	});
}

// The first test: the collector is made once.
test('a collection leaves no flag of V8 behind for which compiled code is refused', () => {
	const program = idleProgram();
	const cachedData = new Script('1 + 1').createCachedData();
	program.mib = 600;
	expect(program.pass(2)).toBeGreaterThan(0);
	// Of another text of that length: V8 would not look at the data for one that it has compiled already.
	expect(new Script('2 + 2', {cachedData}).cachedDataRejected).toBe(false);
});

test('memory that is held is looked at again ever less often, but every minute', () => {
	const program = idleProgram();
	expect(program.pass(10)).toBe(0);
	program.mib = 600;
	expect(program.pass(120)).toBeGreaterThan(8);
	expect(program.pass(120)).toBe(10);
});

test('it is looked at soon when something was let go of or memory has grown', () => {
	const program = idleProgram();
	program.mib = 600;
	program.pass(240);
	program.holders = 2;
	expect(program.pass(2)).toBe(1);
	program.pass(240);
	program.mib = 700;
	expect(program.pass(2)).toBe(1);
});
