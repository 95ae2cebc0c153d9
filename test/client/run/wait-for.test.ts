import {readFile} from 'node:fs/promises';
import {describe, expect, expectTypeOf, test, vi} from 'vitest';
import type {ProcessHandle} from '../../../src/client/process/process-handle.js';
import {MAX_BEFORE_BYTES, type PatternResult} from '../../../src/client/run/pattern-result.js';
import {type WaitCondition, WaitError, type WaitResult, waitFor} from '../../../src/client/run/wait-for.js';
import {stopClock} from '../../helpers/clock.js';
import {eventually} from '../../helpers/processes.js';
import {sh} from '../../helpers/start-params.js';
import {waitTicks} from '../../helpers/ticks.js';
import {ENVIRONMENTS} from '../../helpers/transports.js';

const files = {readFile: (path: string) => readFile(path)};

describe.each(Object.entries(ENVIRONMENTS))('on %s', (_name, machine) => {
	async function started(script: string, more: object = {}) {
		return (await (await machine()).processes.start(sh('p', script, more))).process;
	}

	test('the exit is waited for', async () => {
		expect(await waitFor(await started('exit 3'), {exit: true})).toMatchObject({by: 'exit', exit: {exitCode: 3}});
	});

	test('a text is found that came in pieces, before or after it was asked for', async () => {
		const process = await started('printf lis; sleep 0.05; printf "tening on 4%s" 2; exec sleep 1000');
		for (let times = 0; times < 2; times++) {
			const {match} = await waitFor(process, {pattern: /listening on (\d+)/g});
			expect([...match]).toEqual(['listening on 42', '42']);
		}
		expect(await waitFor(process, {pattern: 'on 42'})).toMatchObject({by: 'pattern'});
		await process.terminate();
	});

	test('a second wait does not find what the first one found', async () => {
		const process = await started('printf "é> é"; while read x; do printf "> $x"; done', {pipeStdin: true});
		const first = await waitFor(process, {pattern: '> '});
		expect(first.end).toEqual({seq: 1, offset: 4});
		const second = waitFor(process, {pattern: /(\S*)> (\w*)/, after: first.end});
		await process.write('two\n');
		const {match, end} = await second;
		expect([...match]).toEqual(['é> two', 'é', 'two']);
		const third = waitFor(process, {pattern: />/, after: end.seq});
		await process.write('three\n');
		expect((await third).end.seq).toBeGreaterThan(end.seq);
		await expect(waitFor(process, {pattern: 'two', after: end}, {timeout: 20})).rejects.toThrow(WaitError);
		await process.terminate();
	});

	test('output of long ago is not read again to wait for something later', async () => {
		const process = await started('seq 1 300000; echo ready; read x; echo ready', {pipeStdin: true});
		const {end} = await waitFor(process, {pattern: 'ready'});
		const again = waitFor(process, {pattern: 'ready', after: end});
		await process.write('go\n');
		expect((await again).end.seq).toBeGreaterThan(end.seq);
	});

	test.each([
		['an expression', /(a+)+$b/],
		['an expression with flags', /(?<run>A+)+$b/imsu],
	])('%s that never ends fails, and the program goes on meanwhile', async (_kind, pattern) => {
		const process = await started(`printf ${'a'.repeat(60)}; exec sleep 1000`);
		let turns = 0;
		const turning = setInterval(() => turns++, 1);
		await expect(waitFor(process, {pattern})).rejects.toThrow('the pattern takes too long to match');
		await expect(process.waitFor({pattern})).rejects.toThrow('the pattern takes too long to match');
		clearInterval(turning);
		expect(turns).toBeGreaterThan(10);
		await process.terminate();
	});

	test('a wait for an expression that never ends is over after its time', async () => {
		const process = await started(`printf ${'a'.repeat(60)}; exec sleep 1000`);
		const condition = {pattern: /(a+)+$b/i};
		const late = {name: 'WaitError', reason: 'timeout'};
		await expect(waitFor(process, condition, {timeout: 20})).rejects.toMatchObject(late);
		await expect(process.waitFor(condition, {timeout: 20})).rejects.toMatchObject(late);
		await process.terminate();
	});

	test('a match comes with the output in front of it, from the first byte or from the match before', async () => {
		const process = await started('printf "hello é\nName: "; read x; echo "so $x"; printf "Age: "; exec sleep 1000', {
			pipeStdin: true,
		});
		const waits = [
			(...given: Parameters<ProcessHandle['waitFor']>) => waitFor(process, ...given),
			(...given: Parameters<ProcessHandle['waitFor']>) => process.waitFor(...given),
		];
		await waitFor(process, {pattern: 'Name'});
		await process.write('you\n');
		for (const wait of waits) {
			const first = (await wait({pattern: /(?<what>name): /i})) as PatternResult;
			expect(first).toMatchObject({before: 'hello é\n', isTruncated: false});
			expect(first.match).toMatchObject({0: 'Name: ', index: 8, input: 'hello é\nName: ', groups: {what: 'Name'}});
			const second = (await wait({pattern: 'Age: ', after: first.end})) as PatternResult;
			expect(second).toMatchObject({before: 'so you\n', isTruncated: false});
		}
		await process.terminate();
	});

	test('output in front of a match is whole beyond the window of the pattern, and its loss is told', async () => {
		const process = await started('head -c 200000 /dev/zero | tr "\\0" x; printf "$ "; exec sleep 1000');
		const bothWays = [
			waitFor,
			<K extends keyof WaitCondition>(handle: ProcessHandle, condition: Pick<WaitCondition, K>) =>
				handle.waitFor(condition),
		];
		for (const wait of bothWays) {
			const {before, isTruncated} = await wait(process, {pattern: '$ '});
			expect([before.length, isTruncated]).toEqual([200_000, false]);
		}
		for (const wait of bothWays) {
			const {before, match, isTruncated} = await wait(process, {pattern: /^x*\$ /});
			expect([before.length + match[0].length, isTruncated]).toEqual([200_002, match[0].length < 200_002]);
		}
		await process.terminate();
		const long = await started('head -c 3000000 /dev/zero | tr "\\0" x; printf "$ "; exec sleep 1000');
		for (const wait of bothWays) {
			const {before, isTruncated} = await wait(long, {pattern: '$ '});
			expect(isTruncated).toBe(true);
			expect(before).toMatch(/^x{1000,}$/);
			expect(before.length).toBeLessThanOrEqual(MAX_BEFORE_BYTES);
		}
		await long.terminate();
	});

	test('a text in the very last words is found', async () => {
		const process = await started('seq 1 20000; echo the end');
		expect(await waitFor(process, {pattern: 'the end'})).toMatchObject({by: 'pattern'});
	});

	test('a text that never comes is given up with the process', async () => {
		const waiting = waitFor(await started('echo other; exit 4'), {pattern: 'this'});
		await expect(waiting).rejects.toMatchObject({
			name: 'WaitError',
			reason: 'ended',
			message: 'the process ended with code 4 before that',
		});
	});

	test('silence is waited for, and noise puts it off', async () => {
		const process = await started('while read x; do echo $x; done', {pipeStdin: true});
		stopClock();
		let result: unknown;
		const waiting = (async () => {
			result = await waitFor(process, {silence: 300});
		})();
		for (const line of ['1\n', '2\n', '3\n']) {
			vi.advanceTimersByTime(299);
			const {lastSeq} = process;
			await process.write(line);
			await eventually(() => process.lastSeq > lastSeq);
			await waitTicks();
		}
		vi.advanceTimersByTime(299);
		await waitTicks();
		expect(result).toBeUndefined();
		vi.advanceTimersByTime(1);
		await waiting;
		expect(result).toEqual({by: 'silence'});
		await process.terminate();
	});

	test('a process that ends does not count as silent', async () => {
		await expect(waitFor(await started('echo bye'), {silence: 60_000})).rejects.toMatchObject({reason: 'ended'});
	});

	test('it is given up after a time, or when nobody wants it, and the process runs on', async () => {
		const process = await started('exec sleep 1000');
		await expect(waitFor(process, {exit: true}, {timeout: 20})).rejects.toThrow(WaitError);
		const controller = new AbortController();
		const waiting = waitFor(process, {pattern: 'x'}, {signal: controller.signal});
		controller.abort(new Error('enough'));
		await expect(waiting).rejects.toThrow('enough');
		expect(await process.terminate()).toMatchObject({running: true});
	});

	test('of several things the first counts', async () => {
		const process = await started('echo ready; exec sleep 1000');
		expect(await waitFor(process, {exit: true, pattern: 'ready', silence: 60_000})).toMatchObject({by: 'pattern'});
		await process.terminate();
	});

	test('a port is waited for that something listens on', async () => {
		const script =
			'const s=require("net").createServer();setTimeout(()=>s.listen(0,"127.0.0.1",()=>console.log(s.address().port)),50)';
		const process = await started(`exec ${globalThis.process.execPath} -e '${script}'`);
		const {match} = await waitFor(process, {pattern: /^(\d+)\n/});
		const port = Number(match[1]);
		expect(await waitFor(process, {port}, {files})).toEqual({by: 'port', port});
		await process.terminate();
		await process.closed;
		await expect(waitFor(process, {port}, {files, timeout: 1})).rejects.toThrow(WaitError);
	});
});

test('nothing to wait for is a mistake', async () => {
	const {process} = await (await ENVIRONMENTS['this machine']!()).processes.start(sh('p', 'true'));
	await expect(waitFor(process, {})).rejects.toThrow('nothing to wait for');
	await expect(waitFor(process, {exit: true, after: 3})).rejects.toThrow('needs a pattern');
	await expect(waitFor(process, {pattern: 'x', after: -5})).rejects.toThrow('must be the number of an event');
	await expect(waitFor(process, {pattern: 5 as never})).rejects.toThrow('text or a regular expression');
	await expect(waitFor(process, {port: 1})).rejects.toThrow('needs the files of the machine');
});

/** Calls that are only looked at by the compiler. */
const CALLS = {
	pattern: (handle: ProcessHandle) => waitFor(handle, {pattern: 'ready'}),
	either: (handle: ProcessHandle) => waitFor(handle, {exit: true, port: 80}, {files}),
	any: (handle: ProcessHandle, condition: WaitCondition) => waitFor(handle, condition),
	// @ts-expect-error: a member that does not exist
	typo: (handle: ProcessHandle) => waitFor(handle, {exit: true, patern: 'ready'}),
};

test('the result is typed by the members of the condition', () => {
	expectTypeOf(CALLS.pattern).returns.resolves.toEqualTypeOf<Extract<WaitResult, {by: 'pattern'}>>();
	expectTypeOf(CALLS.either).returns.resolves.toEqualTypeOf<Extract<WaitResult, {by: 'exit' | 'port'}>>();
	expectTypeOf(CALLS.any).returns.resolves.toEqualTypeOf<WaitResult>();
});
