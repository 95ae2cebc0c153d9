import {describe, expect, test} from 'vitest';
import {unless} from '../../helpers/needs.js';
import {LINKS, STOCK} from './links.js';
import {hasVectors, replay} from './replay.js';
import {exceptionsIn} from './replay-exceptions.js';

const CALLS = 76;
/** The recorded clock stood still for up to 150 ms, and machines are not equally fast. */
const MOST_EARLY_SECONDS = 0.3;
const MOST_LATE_SECONDS = 3;
const REPLAY_TIMEOUT_MS = 60_000;
/** Some recorded windows are a quarter of a second; a busy machine may be too slow for one of them. */
const RETRIES = 2;

const NO_VECTORS = 'the recorded calls are not here';

const MODES = [{strictCompat: true}, {strictCompat: false}];

describe.each(Object.entries({...LINKS, ...STOCK}))(
	'in %s',
	unless(hasVectors ? undefined : NO_VECTORS),
	(place, open) => {
		// The peer's server is measured in the peer's way only.
		test.each(place in STOCK ? MODES.slice(0, 1) : MODES)(
			'every recorded call is answered as it was, but for those that are better on purpose (%o)',
			{timeout: REPLAY_TIMEOUT_MS, retry: RETRIES},
			async ({strictCompat}) => {
				const environment = await open();
				const calls = await replay(environment, {strictCompat, isStock: place in STOCK});
				expect(calls.map(({name, got}) => ({name, text: got}))).toEqual(
					calls.map(({name, expected}) => ({name, text: expected})),
				);
				const isRemote = environment.kind === 'remote';
				const isStock = place in STOCK;
				expect([calls.length, calls.filter(({reason}) => reason).length]).toEqual([
					CALLS,
					exceptionsIn({isRemote, isStock, strictCompat}),
				]);
				const offBeat = calls.filter(
					({laterSeconds}) => laterSeconds < -MOST_EARLY_SECONDS || laterSeconds > MOST_LATE_SECONDS,
				);
				expect(offBeat).toEqual([]);
			},
		);
	},
);

test('the recorded calls are there to be replayed', ({skip}) => {
	if (!hasVectors) skip(NO_VECTORS);
	expect(hasVectors).toBe(true);
});
