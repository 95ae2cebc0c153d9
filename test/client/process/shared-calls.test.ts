// covers: src/client/process/process-logs.ts, src/client/process/remote-sharing.ts, src/client/process/server-wait.ts
import {expect, test} from 'vitest';
import type {LogEntry, LogOptions, ProcessHandle} from '../../../src/client/index.js';
import {sh} from '../../helpers/start-params.js';
import {type ScriptedConnection, type ScriptedSession, SHARING, scriptedSession} from '../scripted-sessions.js';

interface Started extends ScriptedSession {
	readonly process: ProcessHandle;
}

async function started(capabilities: Readonly<Record<string, boolean>> = SHARING): Promise<Started> {
	const session = await scriptedSession(capabilities);
	const starting = session.client.start(sh('p', 'true'));
	await session.first.answer('process/start', {processId: 'p'});
	return {...session, process: (await starting).process};
}

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString();
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const page = (...texts: [seq: number, text: string][]) => ({
	chunks: texts.map(([seq, text]) => ({seq, stream: 'stdout', chunk: base64(text)})),
	nextSeq: (texts.at(-1)?.[0] ?? 0) + 1,
	exited: false,
	exitCode: null,
	closed: false,
	failure: null,
});

test('everything that a server cannot do is refused with the name of the capability', async () => {
	const {process} = await started({});
	const refused = {code: 'NOT_SUPPORTED'};
	for (const [call, capability] of [
		[() => process.takeOver(), 'processAttach'],
		[() => process.giveBack(), 'processAttach'],
		[() => process.detach(), 'processAttach'],
		[() => process.screen(), 'processScreen'],
		[() => process.share(), 'processShare'],
		[() => process.remove(), 'processSpill'],
		[() => process.logs().next(), 'processSpill'],
		[() => process.waitFor({input: true}), 'processWaitFor'],
	] as const) {
		await expect(call()).rejects.toMatchObject({...refused, context: {capability}});
	}
});

test('a screen is asked for by event or time', async () => {
	const {process, first} = await started();
	const result = {
		rows: 2,
		cols: 9,
		cursor: {row: 0, col: 1, isVisible: true},
		alternate: false,
		title: '',
		lines: ['$', ''],
		seq: 7,
	};
	const now = process.screen();
	expect(await first.answer('process/screen', result)).toEqual({processId: 'p'});
	expect(await now).toEqual(result);
	const then = process.screen({at: new Date(5000), format: 'ansi'});
	expect(await first.answer('process/screen', result)).toEqual({processId: 'p', atMs: 5000, format: 'ansi'});
	await then;
	const early = process.screen({atSeq: 3});
	expect(await first.answer('process/screen', result)).toEqual({processId: 'p', atSeq: 3});
	await early;
	await expect(process.screen({at: 1, atSeq: 1})).rejects.toThrow('exclude each other');
	await expect(process.screen({at: new Date('soon')})).rejects.toThrow('must be a date');
	await expect(process.screen({format: 'html'} as object)).rejects.toThrow("'text' or 'ansi'");
});

test('a token is good for a while that may have a unit', async () => {
	const {process, first} = await started();
	const sharing = process.share({role: 'drive', for: '1h'});
	const grant = {token: 'secret', processId: 'p', role: 'drive'};
	const params = await first.answer('process/share', {...grant, expiresAtMs: 1_000_000});
	expect(params).toEqual({processId: 'p', role: 'drive', forMs: 3_600_000});
	expect(await sharing).toEqual({...grant, expiresAt: new Date(1_000_000)});
	await expect(process.share({role: 'own'} as object)).rejects.toThrow("'observe' or 'drive'");
	await expect(process.share({for: 'ever'})).rejects.toThrow('option `for` of share()');
});

test('a process that has ended is removed', async () => {
	const {process, first} = await started();
	const removing = process.remove();
	expect(await first.answer('process/remove', {})).toEqual({processId: 'p'});
	await removing;
});

async function read(process: ProcessHandle, options: LogOptions): Promise<string[]> {
	const entries: LogEntry[] = [];
	for await (const entry of process.logs(options)) entries.push(entry);
	return entries.map(entry =>
		entry.kind === 'gap' ? `${entry.missedBytes} missing` : `${entry.seq}@${entry.ms} ${textOf(entry.bytes)}`,
	);
}

interface LogPage {
	readonly seq: number;
	readonly atEnd: boolean;
	readonly closed?: boolean;
	readonly missedBytes?: number;
}

function logPage({seq, atEnd, closed = false, missedBytes}: LogPage): object {
	return {
		chunks: [{seq, stream: 'stdout', ms: seq * 100, chunk: base64(`line ${seq}`)}],
		next: {seq: seq + 1, byte: seq * 10},
		atEnd,
		closed,
		exitCode: null,
		...(missedBytes && {missedBytes}),
	};
}

test('a log is read in pages to its end, and a gap is told in its place', async () => {
	const {process, first} = await started();
	const reading = read(process, {tail: 20, stream: 'stdout', grep: 'a.b'});
	const asked = [
		await first.answer('process/logs', logPage({seq: 4, atEnd: false, missedBytes: 30})),
		await first.answer('process/logs', logPage({seq: 5, atEnd: true})),
	];
	expect(await reading).toEqual(['30 missing', '4@400 line 4', '5@500 line 5']);
	expect(asked[0]).toMatchObject({processId: 'p', from: {tail: 20}, stream: 'stdout', grep: 'a\\.b', waitMs: 0});
	expect(asked[1]).toMatchObject({from: {byte: 40}, grep: 'a\\.b'});
});

test('a log that is followed goes on until the process has closed, also over a lost connection', async () => {
	const {process, first, resumed} = await started();
	const reading = read(process, {from: 3, grep: /x$/, follow: true});
	expect(await first.answer('process/logs', logPage({seq: 3, atEnd: true}))).toMatchObject({
		from: {seq: 3},
		grep: 'x$',
		waitMs: 0,
	});
	const {params} = await first.asked('process/logs');
	expect(params['waitMs']).toBeGreaterThan(0);
	first.cut();
	const second: ScriptedConnection = await resumed(1);
	await second.answer('process/read', page());
	expect(await second.answer('process/logs', logPage({seq: 4, atEnd: false}))).toEqual(params);
	await second.answer('process/logs', logPage({seq: 5, atEnd: true, closed: true}));
	expect(await reading).toEqual(['3@300 line 3', '4@400 line 4', '5@500 line 5']);
});

test('a log since a date is asked for by that, and an abort ends the wait for more', async () => {
	const {process, first} = await started();
	const stop = new AbortController();
	const reading = read(process, {since: new Date(9000), follow: true, signal: stop.signal});
	expect(await first.answer('process/logs', logPage({seq: 1, atEnd: true}))).toMatchObject({from: {ms: 9000}});
	await first.asked('process/logs');
	stop.abort(new Error('enough'));
	await expect(reading).rejects.toThrow('enough');
});

test('options of a log that contradict each other are refused before anything is asked', async () => {
	const {process} = await started();
	expect(() => process.logs({tail: 1, from: 1})).toThrow('exclude each other');
	expect(() => process.logs({since: 'yesterday'})).toThrow('option `since` of logs()');
	expect(() => process.logs({grep: /x/i})).toThrow('has no flags');
	expect(() => process.logs({folow: true} as object)).toThrow('did you mean `follow`?');
});

test('the server waits for what it can see: an exit, a port, silence, input', async () => {
	const {process, first} = await started();
	const any = process.waitFor({exit: true, port: 80, silence: '5s', input: true}, {timeout: '1m'});
	const params = await first.answer('process/waitFor', {by: 'input', seq: 3, waitingFor: 'password', isGuess: false});
	expect(params).toEqual({processId: 'p', exit: true, port: 80, silenceMs: 5000, input: true, timeoutMs: 60_000});
	expect(await any).toEqual({by: 'input', waitingFor: 'password', isGuess: false});
	const exit = process.waitFor({exit: true});
	await first.answer('process/waitFor', {by: 'exit', seq: 3, exitCode: 143, reason: 'signal'});
	expect(await exit).toEqual({by: 'exit', exit: {exitCode: 143, reason: 'signal', sandboxDenied: undefined}});
	const port = process.waitFor({port: 80});
	await first.answer('process/waitFor', {by: 'port', seq: 3});
	expect(await port).toEqual({by: 'port', port: 80});
	const silence = process.waitFor({silence: 5});
	await first.answer('process/waitFor', {by: 'silence', seq: 3});
	expect(await silence).toEqual({by: 'silence'});
});

test('a wait that fails has the reason that it has without a server', async () => {
	const {process, first} = await started();
	const late = process.waitFor({input: true}, {timeout: '1h'});
	await first.answer('process/waitFor', {by: 'timeout', seq: 3});
	await expect(late).rejects.toMatchObject({name: 'WaitError', reason: 'timeout'});
	const ended = process.waitFor({pattern: 'x'});
	await first.answer('process/waitFor', {by: 'ended', seq: 3, exitCode: 4});
	await expect(ended).rejects.toThrow('the process ended with code 4 before that');
	const unknown = process.waitFor({exit: true});
	await first.answer('process/waitFor', {by: 'exit', seq: 3, exitCode: null});
	await expect(unknown).rejects.toMatchObject({reason: 'lost'});
	const stop = new AbortController();
	const aborted = process.waitFor({exit: true}, {signal: stop.signal});
	await first.asked('process/waitFor');
	stop.abort(new Error('enough'));
	await expect(aborted).rejects.toThrow('enough');
	await expect(process.waitFor({})).rejects.toThrow('nothing to wait for');
});

test('a pattern that the server finds has its groups, and a place behind it inside of its event', async () => {
	const {process, first} = await started();
	const waiting = process.waitFor({pattern: /on (?<port>\d+)/, after: 4});
	const match = {text: 'on 42', groups: ['42']};
	const params = await first.answer('process/waitFor', {by: 'pattern', seq: 21, match});
	expect(params).toEqual({processId: 'p', pattern: 'on (?<port>\\d+)', afterSeq: 4});
	expect(await first.answer('process/read', page([20, 'é on'], [21, ' 42 on 42']))).toMatchObject({afterSeq: 5});
	// The output in front of the match.
	expect(await first.answer('process/read', page([5, 'it is '], [20, 'é on'], [21, ' 42 on 42']))).toMatchObject({
		afterSeq: 4,
	});
	const {match: found, end} = await waiting;
	expect([[...found], found.groups?.['port'], end]).toEqual([['on 42', '42'], '42', {seq: 21, offset: 3}]);
});

test('a match in an event that is gone ends behind that event', async () => {
	const {process, first} = await started();
	const waiting = process.waitFor({pattern: '(x'});
	const answer = {by: 'pattern', seq: 2, match: {text: '(x', groups: []}};
	expect(await first.answer('process/waitFor', answer)).toMatchObject({pattern: '\\(x'});
	// Twice for the place of the match, and twice for the output in front of it.
	for (let reads = 0; reads < 4; reads++) await first.answer('process/read', page());
	expect(await waiting).toMatchObject({by: 'pattern', end: {seq: 3, offset: 0}});
});

test('a pattern with flags, or behind a place inside of an event, is looked for here', async () => {
	const {process, first} = await started();
	const waits = [
		process.waitFor({pattern: /READY/i}),
		process.waitFor({pattern: 'ready', after: {seq: 1, offset: 1}}),
		process.waitFor({pattern: /ready/g, after: {seq: 1, offset: 1}}),
	];
	first.output('p', 1, 'ready ready');
	for (const _ of waits) await first.answer('process/read', page([1, 'ready ready']));
	const results = await Promise.all(waits);
	expect(results.map(({end}) => end.offset)).toEqual([5, 11, 11]);
});

test('a condition that the server refuses to look for is waited for here', async () => {
	const {process, first} = await started();
	const waiting = process.waitFor({pattern: 'ready'});
	await first.refuse('process/waitFor', {code: -32602, message: 'not supported'});
	first.output('p', 1, 'ready');
	await first.answer('process/read', page([1, 'ready']));
	expect(await waiting).toMatchObject({by: 'pattern', end: {seq: 1, offset: 5}});
	const invalid = process.waitFor({pattern: /x/});
	await first.refuse('process/waitFor', {code: -32602, message: 'no', data: {code: 'PATTERN_INVALID'}});
	await expect(invalid).rejects.toMatchObject({errorCode: 'PATTERN_INVALID'});
});

test('a wait goes on over a lost connection', async () => {
	const {process, first, resumed} = await started();
	const waiting = process.waitFor({input: true});
	await first.asked('process/waitFor');
	first.cut();
	const second = await resumed(1);
	await second.answer('process/read', page());
	await second.answer('process/waitFor', {by: 'input', seq: 3, waitingFor: 'input', isGuess: true});
	expect(await waiting).toEqual({by: 'input', waitingFor: 'input', isGuess: true});
});
