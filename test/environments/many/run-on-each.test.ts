import {expect, onTestFinished, test} from 'vitest';
import {Environment} from '../../../src/environments/environment.js';
import {describeGroup, foldOutcomes} from '../../../src/environments/many/fold-outcomes.js';
import {type Machine, type MachineResult, runOnEach} from '../../../src/environments/many/run-on-each.js';
import {Deferred} from '../../../src/shared/async/deferred.js';
import {Cuttable} from '../../helpers/cuttable.js';
import {serving} from '../../helpers/serving.js';

/** This machine under several names, each with a variable that tells which it is. */
function machines(...ids: string[]): Machine[] {
	return ids.map(id => {
		const environment = Environment.local(id);
		onTestFinished(() => environment.close());
		return {
			id,
			run: (argv, options) => environment.run(argv, {...options, env: {MACHINE: id}}),
			shell: (line, options) => environment.shell(line, {...options, env: {MACHINE: id}}),
		};
	});
}

const kinds = (results: readonly MachineResult[]): string[] => results.map(({outcome}) => outcome.kind);
const describe = (results: readonly MachineResult[]): string[] =>
	foldOutcomes(results).map(group => describeGroup(group, results.length));

test('every machine has its outcome, and equal ones are folded with failures first', async () => {
	const line = 'case $MACHINE in c) echo different;; d) echo broken >&2; exit 3;; e) kill -9 $$;; *) echo same;; esac';
	const results = await runOnEach(machines('a', 'b', 'c', 'd', 'e', 'f'), line);
	expect(results.map(({id}) => id)).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
	expect(describe(results)).toEqual([
		'1 of 6 exit 3: d',
		'1 of 6 signal, exit 137: e',
		'3 of 6 exit 0, equal: a b f',
		'1 of 6 exit 0: c',
	]);
	expect(results[3]).toMatchObject({
		outcome: {kind: 'exited', exitCode: 3, by: 'exit', isComplete: true},
		stdout: {text: ''},
		stderr: {text: 'broken\n'},
	});
});

test('a program that does not exist is not started, and a machine that is not there is lost: neither is an exit', async () => {
	const gone = Environment.remote('gone', 'ws://127.0.0.1:1', {recovers: false});
	onTestFinished(() => gone.close());
	const [here] = machines('here');
	const results = await runOnEach([here!, gone], ['/nowhere/to/be/found']);
	expect(kinds(results)).toEqual(['failed', 'lost']);
	expect(describe(results)).toEqual(['1 of 2 not started: here', '1 of 2 lost: gone']);
});

test('a link that is cut while the command runs leaves a lost machine with its output, never an exit', async () => {
	const link = await Cuttable.to((await serving()).url);
	const environment = Environment.remote('cut', link.url, {recovers: false});
	onTestFinished(() => environment.close());
	const [alive] = machines('alive');
	const results = await runOnEach([environment, alive!], 'echo begun; [ "$MACHINE" = alive ] || sleep 600', {
		onOutput: id => {
			if (id === 'cut') link.cut();
		},
	});
	expect(kinds(results)).toEqual(['lost', 'exited']);
	expect(results[0]!.stdout.text).toBe('begun\n');
});

test('lost machines are folded although each has a message of its own', async () => {
	const gone = [1, 2].map(port => Environment.remote(`gone${port}`, `ws://127.0.0.1:${port}`, {recovers: false}));
	onTestFinished(async () => void (await Promise.all(gone.map(each => each.close()))));
	const results = await runOnEach(gone, ['true']);
	expect(new Set(results.map(({outcome}) => JSON.stringify(outcome))).size).toBe(2);
	expect(describe(results)).toEqual(['2 of 2 lost: gone1 gone2']);
});

test('no more machines than allowed run at the same time, and results keep their order', async () => {
	let running = 0;
	let most = 0;
	const gates = Array.from({length: 6}, () => new Deferred());
	const ids = gates.map((_gate, place) => `m${place}`);
	const [real] = machines('real');
	const gated = gates.map(
		(gate, place): Machine => ({
			id: ids[place]!,
			shell: real!.shell,
			run: async (argv, options) => {
				most = Math.max(most, ++running);
				await gate.promise;
				running--;
				return real!.run(argv, options);
			},
		}),
	);
	const finished: string[] = [];
	const all = runOnEach(gated, ['true'], {
		parallel: 2,
		onStart: id => {
			// The later ones are let go when the last has been begun with.
			if (id !== 'm0') gates[ids.indexOf(id)]!.resolve();
			if (id === 'm5') gates[0]!.resolve();
		},
		onResult: ({id}) => finished.push(id),
	});
	expect((await all).map(({id}) => id)).toEqual(ids);
	expect(most).toBe(2);
	expect(finished).toHaveLength(6);
});

test('after a failed canary nothing is asked of the others', async () => {
	const failing = await runOnEach(machines('a', 'b', 'c'), '[ $MACHINE != b ]', {canary: 2});
	expect(failing.map(({outcome}) => outcome)).toMatchObject([
		{kind: 'exited', exitCode: 0},
		{kind: 'exited', exitCode: 1},
		{kind: 'skipped', reason: 'canary'},
	]);
	expect(kinds(await runOnEach(machines('a', 'b', 'c'), 'true', {canary: 1}))).toEqual(['exited', 'exited', 'exited']);
	expect(kinds(await runOnEach(machines('a'), 'false', {canary: 5}))).toEqual(['exited']);
});

test('after enough failures no more machines are begun with', async () => {
	const results = await runOnEach(machines('a', 'b', 'c', 'd'), '[ $MACHINE = a ]', {parallel: 1, stopAfter: 2});
	expect(results.map(({outcome}) => outcome)).toMatchObject([
		{exitCode: 0},
		{exitCode: 1},
		{exitCode: 1},
		{kind: 'skipped', reason: 'failures'},
	]);
});

test('an abort ends what runs and leaves the rest alone', async () => {
	const controller = new AbortController();
	const results = await runOnEach(machines('a', 'b'), 'echo on; exec sleep 600', {
		parallel: 1,
		signal: controller.signal,
		onOutput: () => controller.abort(),
	});
	expect(results.map(({outcome}) => outcome)).toMatchObject([
		{kind: 'exited', by: 'aborted'},
		{kind: 'skipped', reason: 'aborted'},
	]);
});

test('a time limit holds for each machine', async () => {
	const [result] = await runOnEach(machines('a'), ['sleep', '600'], {timeout: 50});
	expect(result!.outcome).toMatchObject({kind: 'exited', by: 'timeout'});
});

test('head and tail are kept of a long output, and equality is that of all of it', async () => {
	const line =
		'yes x | head -c 100000; [ $MACHINE = b ] && echo y; [ $MACHINE = c ] && printf "z\\n"; yes x | head -c 100000';
	const results = await runOnEach(machines('a', 'b', 'c', 'd'), line, {maxBytes: 1000});
	expect(results[1]!.stdout).toMatchObject({totalBytes: 200_002, omittedBytes: 199_002});
	expect(results[1]!.stdout.bytes).toEqual(results[2]!.stdout.bytes);
	expect(describe(results)).toEqual(['2 of 4 exit 0, equal: a d', '1 of 4 exit 0: b', '1 of 4 exit 0: c']);
});

test('every machine gets the same input', async () => {
	const results = await runOnEach(machines('a', 'b'), ['cat'], {input: 'given'});
	expect(results.map(({stdout}) => stdout.text)).toEqual(['given', 'given']);
});

test('wrong options are refused before anything runs, and the failure of a listener ends everything', async () => {
	const started: string[] = [];
	const onStart = (id: string): void => void started.push(id);
	const nowhere = machines('a');
	for (const wrong of [{parallel: 0}, {parallel: 257}, {canary: 0}, {stopAfter: 1.5}, {timout: 5}]) {
		await expect(runOnEach(nowhere, ['true'], {onStart, ...wrong})).rejects.toThrow(/runOnEach\(\)/);
	}
	expect(started).toEqual([]);
	const failing = runOnEach(machines('a', 'b'), 'echo on; exec sleep 600', {
		onOutput: () => {
			throw new Error('of the listener');
		},
	});
	await expect(failing).rejects.toThrow('of the listener');
});
