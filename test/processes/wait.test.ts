import {setImmediate} from 'node:timers/promises';
import {expect, test} from 'vitest';
import {OutputLog} from '../../src/processes/output/output-log.js';
import {waitForExit} from '../../src/processes/output/read-output.js';
import {Scope} from '../../src/shared/async/scope.js';

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

function timers(): number {
	return process.getActiveResourcesInfo().filter(name => name === 'Timeout').length;
}

/** How a wait ended so far. */
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

test('output does not end a wait; the exit does, and leaves nothing behind', async () => {
	const log = newLog();
	const before = timers();
	const wait = outcome(waitForExit(log, 1_000_000, new Scope()));
	log.append('stdout', new Uint8Array(1));
	expect([await wait.now(), log.watchers, timers()]).toEqual(['pending', 1, before + 1]);
	log.recordExit({exitCode: 0, reason: 'exit'});
	expect([await wait.now(), log.watchers, timers()]).toEqual(['settled', 0, before]);
	expect(waitForExit(log, undefined, new Scope())).toBeUndefined();
});

test('the end of its scope ends a wait without an answer, and leaves nothing behind', async () => {
	const log = newLog();
	const before = timers();
	const scope = new Scope();
	const wait = outcome(waitForExit(log, 1_000_000, scope));
	scope.close();
	log.recordExit({exitCode: 0, reason: 'exit'});
	expect([await wait.now(), log.watchers, timers()]).toEqual(['pending', 0, before]);
});

test('in a scope that is over nobody waits and nobody is answered', async () => {
	const log = newLog();
	const before = timers();
	const scope = new Scope();
	scope.close();
	const wait = outcome(waitForExit(log, 1_000_000, scope));
	expect([await wait.now(), log.watchers, timers()]).toEqual(['pending', 0, before]);
	log.recordExit({exitCode: 0, reason: 'exit'});
	expect([await wait.now(), log.watchers, timers()]).toEqual(['pending', 0, before]);
});
