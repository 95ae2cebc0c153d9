import {describe, expect, test} from 'vitest';
import type {Output} from '../../../src/client/process/process-handle.js';
import {MAX_LINE_CHARACTERS, readLines, readTextStream} from '../../../src/client/process/text-streams.js';
import {sh} from '../../helpers/start-params.js';
import {ENVIRONMENTS} from '../../helpers/transports.js';

async function collect(pieces: AsyncIterable<string>): Promise<string[]> {
	const all: string[] = [];
	for await (const piece of pieces) all.push(piece);
	return all;
}

async function* story(pieces: readonly Output[]): AsyncGenerator<Output, undefined, undefined> {
	yield* pieces;
	return undefined;
}

const piece = (stream: 'stdout' | 'stderr', bytes: Uint8Array | string): Output => ({
	kind: 'output',
	seq: 1,
	stream,
	bytes: typeof bytes === 'string' ? new TextEncoder().encode(bytes) : bytes,
});

const EURO = new TextEncoder().encode('€');

describe.each(Object.entries(ENVIRONMENTS))('on %s', (_name, machine) => {
	test('output is read as text and line by line', async () => {
		const environment = await machine();
		const script = 'printf "one\\ntwo\\n"; echo wrong >&2; printf "end without newline"';
		const {process} = await environment.processes.start(sh('p', script));
		expect((await collect(process.text({stream: 'stdout'}))).join('')).toBe('one\ntwo\nend without newline');
		expect((await collect(process.text({stream: 'stderr'}))).join('')).toBe('wrong\n');
		expect(await collect(process.lines({stream: 'stdout'}))).toEqual(['one', 'two', 'end without newline']);
		expect((await collect(process.lines())).sort()).toEqual(['end without newline', 'one', 'two', 'wrong']);
	});

	test('a run hands its output on as text', async () => {
		const environment = await machine();
		let [out, err] = ['', ''];
		await environment.run(['/bin/sh', '-c', 'printf "\\342\\202"; sleep 0.05; printf "\\254 out"; echo err >&2'], {
			onStdout: text => (out += text),
			onStderr: text => (err += text),
		});
		expect([out, err]).toEqual(['€ out', 'err\n']);
	});

	test('a loop over lines can be left, and the process runs on', async () => {
		const environment = await machine();
		const {process} = await environment.processes.start(sh('p', 'echo first; exec sleep 1000'));
		for await (const line of process.lines()) {
			expect(line).toBe('first');
			break;
		}
		expect(await process.terminate()).toMatchObject({running: true});
	});
});

test('a character that comes in two pieces is one, whatever the other stream says between', async () => {
	const pieces = [piece('stdout', EURO.subarray(0, 1)), piece('stderr', 'x'), piece('stdout', EURO.subarray(1))];
	expect(await collect(readTextStream(story(pieces)))).toEqual(['x', '€']);
	expect(await collect(readTextStream(story(pieces.slice(0, 1))))).toEqual(['\uFFFD']);
});

test('lost output is told in its place', async () => {
	const pieces: Output[] = [piece('stdout', 'a'), {kind: 'gap', missedBytes: 7}, piece('stdout', 'b')];
	expect((await collect(readTextStream(story(pieces)))).join('')).toBe('a\n... 7 bytes omitted ...\nb');
	expect(await collect(readLines(story(pieces), {stream: 'stderr'}))).toEqual(['', '... 7 bytes omitted ...']);
	const unknown: Output[] = [{kind: 'gap', missedBytes: undefined}];
	expect(await collect(readLines(story(unknown)))).toEqual(['', '... output omitted ...']);
});

test('lines of terminals have no carriage return, and a line without end comes in parts', async () => {
	expect(await collect(readLines(story([piece('stdout', 'a\r\nb\n\nc')])))).toEqual(['a', 'b', '', 'c']);
	const part = 'x'.repeat(MAX_LINE_CHARACTERS);
	expect(await collect(readLines(story([piece('stdout', part), piece('stdout', 'y\n')])))).toEqual([part, 'y']);
});
