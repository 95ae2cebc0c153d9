import {describe, expect, test, vi} from 'vitest';
import {EXEC_ENVIRONMENTS, UPSTREAM_ENVIRONMENTS} from './environments.js';
import {replay} from './replay.js';
import {exceptionsIn} from './replay-exceptions.js';

vi.mock('../../src/shared/async/timeout.js', async importOriginal => {
	const original = await importOriginal<typeof import('../../src/shared/async/timeout.js')>();
	const {holding} = await import('./held-windows.js');
	return {...original, waitAtMost: holding(original.waitAtMost)};
});

const CALLS = 76;
/** Calls that were answered while their command ran on. */
const CUT_BY_WINDOW = 18;
const REPLAY_TIMEOUT_MS = 240_000;

const MODES = [{strictCompat: true}, {strictCompat: false}];

describe.each(Object.entries({...EXEC_ENVIRONMENTS, ...UPSTREAM_ENVIRONMENTS}))('in %s', (place, open) => {
	// The peer's server is measured in the peer's way only.
	test.each(place in UPSTREAM_ENVIRONMENTS ? MODES.slice(0, 1) : MODES)(
		'every recorded call is answered as it was, but for those that are better on purpose (%o)',
		{timeout: REPLAY_TIMEOUT_MS},
		async ({strictCompat}) => {
			const environment = await open();
			const isStock = place in UPSTREAM_ENVIRONMENTS;
			const calls = await replay(environment, {strictCompat, isStock});
			// The stock server reads both streams of a process apart, so either may be told first.
			const inOrder = (text: string) => (isStock ? text.replace('\nerr\nout\n', '\nout\nerr\n') : text);
			expect(calls.map(({name, got}) => ({name, text: inOrder(got)}))).toEqual(
				calls.map(({name, expected}) => ({name, text: expected})),
			);
			const isRemote = environment.kind === 'remote';
			expect([calls.length, calls.filter(({reason}) => reason).length]).toEqual([
				CALLS,
				exceptionsIn({isRemote, isStock, strictCompat}),
			]);
			const windows = calls.flatMap(({name, window}) => (window ? [{name, ...window}] : []));
			expect(windows).toHaveLength(CUT_BY_WINDOW);
			const offBeat = windows.filter(
				({recordedMs, askedMs, waitedMs}) => askedMs > recordedMs || waitedMs < recordedMs,
			);
			expect(offBeat).toEqual([]);
		},
	);
});
