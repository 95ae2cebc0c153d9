import {writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {Worker} from 'node:worker_threads';
import {expect, onTestFinished, test, vi} from 'vitest';
import {bytePath} from '../../../src/filesystem/byte-path.js';
import {SearchRun} from '../../../src/filesystem/search/search.js';
import {MAX_HELD_MS, MAX_SEARCH_THREADS} from '../../../src/filesystem/search/search-queue.js';
import {stopClock} from '../../helpers/clock.js';
import {scratchDirectory} from '../../helpers/scratch.js';

const QUICK = {names: [], exclude: [], contents: undefined, hidden: false, ignoreFiles: true, maxMatches: 1000};
const ENDLESS = {...QUICK, contents: {pattern: '(a+)+$', regex: true, ignoreCase: false}};

/** Lets threads of no consequence come and go, one after the other. */
async function timeEnough(): Promise<void> {
	for (let count = 0; count < 3; count++)
		await new Promise(resolve => new Worker('', {eval: true}).once('exit', resolve));
}

test('a search that is cancelled twice makes room for one, and those that wait still wait', async () => {
	const root = bytePath(scratchDirectory());
	writeFileSync(join(root, 'evil'), `${'a'.repeat(60)}!\n`);
	const owner = {account: 'one', connection: {}};
	const begin = async (query: typeof QUICK | typeof ENDLESS) => {
		const search = await SearchRun.begin({...query, root}, async () => {}, owner);
		onTestFinished(() => search.cancel());
		return search;
	};
	const first = await begin(ENDLESS);
	first.cancel();
	first.cancel();
	expect(await first.outcome).toMatchObject({cancelled: true});
	const [second] = [await begin(ENDLESS), await begin(ENDLESS)];
	let isOver = false;
	const waiting = await begin(QUICK);
	const outcome = waiting.outcome.finally(() => {
		isOver = true;
	});
	await timeEnough();
	expect(isOver).toBe(false);
	second.cancel();
	expect(await outcome).toMatchObject({matches: 1, cancelled: false});
});

test('endless searches on all threads make room for another account, and say why they ended', async () => {
	stopClock();
	const root = bytePath(scratchDirectory());
	writeFileSync(join(root, 'evil'), `${'a'.repeat(60)}!\n`);
	const begin = async (query: typeof QUICK | typeof ENDLESS, account: string) => {
		const search = await SearchRun.begin({...query, root}, async () => {}, {account, connection: {}});
		onTestFinished(() => search.cancel());
		return search;
	};
	const hostile = [];
	for (let count = 0; count < MAX_SEARCH_THREADS; count++) hostile.push(await begin(ENDLESS, `hostile ${count}`));
	const honest = await begin(QUICK, 'honest');
	vi.advanceTimersByTime(MAX_HELD_MS);
	expect(await hostile[0]!.outcome).toMatchObject({
		truncated: true,
		cancelled: false,
		errors: [{message: 'the search was ended after 30 seconds, because others waited for its thread'}],
	});
	expect(await honest.outcome).toMatchObject({matches: 1, errors: []});
});

test('patterns that take long to be read are refused', async () => {
	const root = bytePath(scratchDirectory());
	const owner = {account: 'one', connection: {}};
	// Sets of Unicode characters are computed when the expression is read.
	const slow = {pattern: '[\\p{L}\\p{Lu}]'.repeat(1000), regex: true, ignoreCase: true};
	const changes = [
		{contents: slow},
		{names: ['{a,b}'.repeat(12_000)]},
		{names: Array(20_000).fill('*')},
		{exclude: Array(70_000).fill('')},
	];
	for (const change of changes) {
		const begun = SearchRun.begin({...QUICK, ...change, root}, async () => {}, owner);
		await expect(begun).rejects.toMatchObject({code: 'PATTERN_INVALID'});
	}
});
