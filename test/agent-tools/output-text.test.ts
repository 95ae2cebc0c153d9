import * as fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {cutMiddle, estimateTokens, type OutputPolicy} from '../../src/agent-tools/output-policy.js';
import {formatForModel, formatOutput} from '../../src/agent-tools/output-text.js';
import {HeadTailBuffer} from '../../src/shared/head-tail-buffer.js';

const sequence = (last: number) => Array.from({length: last}, (_, index) => `${index + 1}\n`).join('');

/** Output as it is read from a buffer. */
function readFrom(text: string | Uint8Array, size = 1024 * 1024) {
	const buffer = new HeadTailBuffer(size);
	buffer.push(Buffer.from(text));
	const decoded = new TextDecoder('utf-8', {ignoreBOM: true}).decode(buffer.markedBytes());
	return {text: decoded, omitted: buffer.omitted, originalTokens: estimateTokens(buffer.total)};
}

const HEAD = {chunkId: 'abc123', wallSeconds: 1.25};

test('an answer has its lines in order, and the output directly behind them', () => {
	const text = formatForModel({...HEAD, exitCode: 0}, readFrom('hi\n'), {tokens: 10_000});
	expect(text).toBe(
		'Chunk ID: abc123\nWall time: 1.2500 seconds\nProcess exited with code 0\nOriginal token count: 1\nOutput:\nhi\n',
	);
	const running = formatForModel({...HEAD, sessionId: 1000}, readFrom(''), {tokens: 10_000});
	expect(running).toContain('seconds\nProcess running with session ID 1000\nOriginal token count: 0\nOutput:\n');
});

test('a text that fits is not touched', () => {
	expect(formatOutput(readFrom('é'.repeat(5)), {bytes: 10})).toBe('ééééé');
	expect(formatOutput(readFrom(''), {tokens: 0})).toBe('');
});

test.each<[string, OutputPolicy, string]>([
	[
		'token one token two token three token four token five token six token seven',
		{tokens: 6},
		'token one to…13 tokens truncated… token seven',
	],
	['x\n', {tokens: 0}, '…1 tokens truncated…'],
	['ééé', {bytes: 0}, '…3 chars truncated…'],
	['éééé', {bytes: 5}, 'é…2 chars truncated…é'],
	['0123456789', {bytes: 5}, '01…5 chars truncated…789'],
])('the middle of %j under %o becomes %j', (text, policy, cut) => {
	expect(cutMiddle(text, policy)).toBe(cut);
});

test('a cut is told with the lines there were, a last one without its end included', () => {
	expect(formatOutput(readFrom('a\nb\nc'), {bytes: 2})).toBe(
		'Warning: truncated output (original token count: 2)\nTotal output lines: 3\n\na…3 chars truncated…c',
	);
});

test('an omission that the cut removed is told in front, one that is still seen is not told twice', () => {
	const output = readFrom('x'.repeat(1000), 100);
	const marker = '... 900 bytes omitted ...';
	expect(formatOutput(output, {bytes: 10})).toMatch(
		`Warning: truncated output (original token count: 250)\n${marker}\n\nxxxxx…117 chars truncated…xxxxx`,
	);
	expect(formatOutput(output, {bytes: 120}).split(marker)).toHaveLength(2);
	expect(formatOutput(output, {bytes: 127})).toBe(output.text);
});

test.each<OutputPolicy>([{bytes: 200}, {tokens: 50}])('the whole answer fits a fifth above the policy %o', policy => {
	const text = formatForModel({...HEAD, exitCode: 0}, readFrom(sequence(150)), policy);
	expect(Buffer.byteLength(text)).toBeLessThanOrEqual(240);
	expect(text).toMatch(/Total output lines: 150\n\n1\n2\n3\n[^]*149\n150\n$/);
});

test('a request can only lower what the model is given', () => {
	const output = readFrom('y\n'.repeat(20_000));
	const policy = {bytes: 1000};
	expect(formatForModel(HEAD, output, policy, 100_000)).toBe(formatForModel(HEAD, output, policy));
	expect(formatForModel(HEAD, output, policy, 10)).toContain('tokens truncated');
});

const REFERENCE = new URL('../vectors/output-text.mjs', import.meta.url);

interface Reference {
	modelText(result: object, policy: OutputPolicy): string;
}

describe('next to the reference', () => {
	const policy = fc.oneof(
		fc.record({bytes: fc.integer({min: 0, max: 400})}),
		fc.record({tokens: fc.integer({min: 0, max: 100})}),
	);
	const said = fc.oneof(
		fc.uint8Array({maxLength: 600}),
		fc.string({unit: 'grapheme', maxLength: 300}).map(text => new Uint8Array(Buffer.from(text))),
		fc
			.array(fc.constantFrom('a', 'é', '€', '😀', '\n'), {maxLength: 400})
			.map(parts => new Uint8Array(Buffer.from(parts.join('')))),
	);

	test('any output under any policy gives the same text', async () => {
		const reference = (await import(REFERENCE.href)) as Reference;
		fc.assert(
			fc.property(said, policy, fc.option(fc.nat(100), {nil: undefined}), fc.nat(700), (bytes, own, asked, size) => {
				const buffer = new HeadTailBuffer(size);
				buffer.push(bytes);
				const output = readFrom(bytes, size);
				const result = {
					chunkId: 'abc123',
					wallSeconds: 1.25,
					exitCode: 0,
					originalTokens: output.originalTokens,
					raw: Buffer.from(buffer.markedBytes()),
					omitted: buffer.omitted,
					maxOutputTokens: asked,
				};
				expect(formatForModel({...HEAD, exitCode: 0}, output, own, asked)).toBe(reference.modelText(result, own));
			}),
			{numRuns: 500},
		);
	});
});
