import * as fc from 'fast-check';
import {expect, test} from 'vitest';
import type {NumberedEvent} from '../../../src/client/process/process-handle.js';
import {ReconcileError, type RetainedPage, reconcile} from '../../../src/client/session/reconcile.js';

/** A process as the server saw it: output, an exit somewhere in it, and a close, as far as it got. */
const story = fc
	.record({before: fc.nat(20), after: fc.nat(5), stage: fc.constantFrom('running', 'exited', 'closed')})
	.map(({before, after, stage}): NumberedEvent[] => {
		const events: NumberedEvent[] = [];
		const output = () =>
			events.push({kind: 'output', seq: events.length + 1, stream: 'stdout', bytes: new Uint8Array([events.length])});
		for (let count = 0; count < before; count++) output();
		if (stage === 'running') return events;
		events.push({kind: 'exited', seq: events.length + 1, exitCode: 7, sandboxDenied: false, reason: undefined});
		for (let count = 0; count < after; count++) output();
		if (stage === 'closed') events.push({kind: 'closed', seq: events.length + 1});
		return events;
	});

/** What `process/read` says after a cursor when the first output was evicted. */
function pageOf(events: readonly NumberedEvent[], afterSeq: number, evicted: number): RetainedPage {
	const outputs = events.flatMap(event => (event.kind === 'output' ? [event] : []));
	const isExited = events.some(({kind}) => kind === 'exited');
	return {
		chunks: outputs
			.slice(evicted)
			.filter(({seq}) => seq > afterSeq)
			.map(({seq, stream, bytes}) => ({seq, stream, chunk: bytes})),
		nextSeq: events.length + 1,
		exited: isExited,
		exitCode: isExited ? 7 : null,
		closed: events.some(({kind}) => kind === 'closed'),
		failure: null,
		sandboxDenied: false,
	};
}

test('from any point on the missed events are found again, each with its own number', () => {
	fc.assert(
		fc.property(story, fc.nat(30), fc.array(fc.nat(30)), (events, cut, alreadyHere) => {
			const published = Math.min(cut, events.length);
			const waiting = new Set(alreadyHere.filter(seq => seq > published && seq <= events.length));
			const hasExited = events.some(
				event => event.kind === 'exited' && (event.seq <= published || waiting.has(event.seq)),
			);
			const known = {published, hasExited, has: (seq: number) => seq <= published || waiting.has(seq)};
			const {events: found, lostThrough} = reconcile(known, pageOf(events, published, 0));
			expect(lostThrough).toBeUndefined();
			const seen = new Set([...found.map(({seq}) => seq), ...waiting]);
			expect(events.slice(published).filter(({seq}) => !seen.has(seq))).toEqual([]);
			for (const event of found) expect(event).toEqual(events[event.seq - 1]);
		}),
	);
});

test('output that is gone is a gap at the beginning, and everything behind it is found', () => {
	fc.assert(
		fc.property(story, fc.nat(30), fc.integer({min: 1, max: 10}), (events, cut, evicted) => {
			const published = Math.min(cut, events.length);
			const known = {
				published,
				hasExited: events.some(({kind, seq}) => kind === 'exited' && seq <= published),
				has: (seq: number) => seq <= published,
			};
			const page = pageOf(events, published, evicted);
			const {events: found, lostThrough = published} = reconcile(known, page);
			const kept = new Set(page.chunks.map(({seq}) => seq));
			const isKept = ({kind, seq}: NumberedEvent) => seq > published && (kind === 'closed' || kept.has(seq));
			// Within a gap nobody can tell where the exit was; that it was is told.
			expect(found.filter(({kind}) => kind !== 'exited')).toEqual(events.filter(isKept));
			expect(found.some(({kind}) => kind === 'exited')).toBe(page.exited && !known.hasExited);
			expect(lostThrough - published + found.length).toBe(events.length - published);
			expect(found.every(({seq}) => seq > lostThrough)).toBe(true);
		}),
	);
});

test.each<[string, Partial<RetainedPage>, string]>([
	[
		'output beyond the end',
		{nextSeq: 2, chunks: [{seq: 2, stream: 'stdout', chunk: new Uint8Array()}]},
		'output 2 is beyond sequence 1',
	],
	[
		'output and close of one number',
		{nextSeq: 2, closed: true, chunks: [{seq: 1, stream: 'stdout', chunk: new Uint8Array()}]},
		'sequence 1 is output and close at once',
	],
	['an exit without a code', {nextSeq: 2, exited: true}, 'the process has exited without a code'],
	['an exit without a number', {nextSeq: 2, exited: true, exitCode: 1, closed: true}, 'the exit has no number'],
	[
		'a gap in the middle',
		{
			nextSeq: 4,
			chunks: [
				{seq: 1, stream: 'stdout', chunk: new Uint8Array()},
				{seq: 3, stream: 'stdout', chunk: new Uint8Array()},
			],
		},
		'process events are no longer retained while recovering through sequence 2',
	],
])('%s is an error', (_what, page, message) => {
	const whole = {chunks: [], nextSeq: 1, exited: false, exitCode: null, closed: false, failure: null, ...page};
	const known = {published: 0, hasExited: false, has: () => false};
	expect(() => reconcile(known, whole)).toThrow(new ReconcileError(message));
});
