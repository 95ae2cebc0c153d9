import {expect, test} from 'vitest';
import type {ProcessChange, ProcessHandle, StreamEvent} from '../../../src/client/index.js';
import {MAX_EARLY_NOTIFICATIONS} from '../../../src/client/session/process-registry.js';
import {sh} from '../../helpers/start-params.js';
import {attachment, type ScriptedSession, SHARING, scriptedSession} from '../scripted-sessions.js';

/** Events up to this number, in short: text, or kind and numbers. */
async function eventsThrough(process: ProcessHandle, seq: number): Promise<string[]> {
	const seen: string[] = [];
	for await (const event of process.events()) {
		seen.push(brief(event));
		if ('seq' in event && event.seq >= seq) break;
	}
	return seen;
}

function brief(event: StreamEvent): string {
	if (event.kind === 'output') return Buffer.from(event.bytes).toString();
	if (event.kind === 'gap') return `gap ${event.afterSeq}..${event.throughSeq} (${event.missedBytes ?? 'unknown'})`;
	return event.kind;
}

async function attached({client, first}: ScriptedSession, options = {}, reply = {}): Promise<ProcessHandle> {
	const attaching = client.attach('p', options);
	await first.answer('process/attach', attachment(reply));
	return attaching;
}

const NOT_DRIVER = {message: 'bob drives', data: {code: 'NOT_DRIVER', context: {driver: 'bob'}}};
const changesOf = (process: ProcessHandle): ProcessChange[] => {
	const changes: ProcessChange[] = [];
	process.onChange(change => changes.push(change));
	return changes;
};

test('a process of another session is watched from its oldest event on', async () => {
	const session = await scriptedSession();
	const {client, first} = session;
	const attaching = client.attach('p');
	expect(await first.answer('process/attach', attachment({driver: 'alice'}))).toEqual({
		process: 'p',
		role: 'observe',
		takeover: false,
		afterSeq: 0,
	});
	const process = await attaching;
	expect([process.role, process.driver, process.name]).toEqual(['observe', 'alice', undefined]);
	for (const seq of [1, 2]) first.output('p', seq);
	first.notify('process/exited', {processId: 'p', seq: 3, exitCode: 4});
	first.notify('process/closed', {processId: 'p', seq: 4});
	expect(await eventsThrough(process, 4)).toEqual(['1,', '2,', 'exited', 'closed']);
	expect(await process.exited).toMatchObject({exitCode: 4});
});

test('events that come before the answer, under an id that only the answer tells, are not lost', async () => {
	const {client, first} = await scriptedSession();
	const attaching = client.attach('build', {afterSeq: 4, role: 'drive', takeover: true, size: {rows: 5, cols: 6}});
	const {id, params} = await first.asked('process/attach');
	expect(params).toEqual({process: 'build', role: 'drive', takeover: true, afterSeq: 4, size: {rows: 5, cols: 6}});
	first.output('other', 1);
	for (const seq of [5, 6]) first.output('p~1', seq);
	first.notify('process/resized', {processId: 'p~1', rows: 5, cols: 6});
	first.peer.send({id, result: attachment({processId: 'p~1', role: 'drive', firstSeq: 1, nextSeq: 7, driver: 'me'})});
	first.output('p~1', 7);
	const process = await attaching;
	expect(await eventsThrough(process, 7)).toEqual(['5,', '6,', '7,']);
	expect([process.processId, process.name, process.role]).toEqual(['p~1', 'build', 'drive']);
	expect(await client.attach('build')).toBe(process);
	expect(await client.attach('p~1', {role: 'drive'})).toBe(process);
});

test('more early events than are kept are read again', async () => {
	const {client, first} = await scriptedSession();
	const attaching = client.attach('p');
	const {id} = await first.asked('process/attach');
	const count = MAX_EARLY_NOTIFICATIONS + 5;
	for (let seq = 1; seq <= count; seq++) first.output('p', seq, 'x');
	first.peer.send({id, result: attachment({nextSeq: count + 1})});
	const chunks = Array.from({length: 5}, (_, index) => ({
		seq: MAX_EARLY_NOTIFICATIONS + 1 + index,
		stream: 'stdout',
		chunk: Buffer.from('y').toString('base64'),
	}));
	const state = {nextSeq: count + 1, exited: false, exitCode: null, closed: false, failure: null};
	const read = await first.answer('process/read', {chunks, ...state});
	expect(read).toMatchObject({processId: 'p', afterSeq: MAX_EARLY_NOTIFICATIONS});
	await first.answer('process/read', {chunks: [], ...state});
	const process = await attaching;
	expect(process.lastSeq).toBe(count);
});

test('two calls for one process have one handle, whichever of its names they use', async () => {
	const {client, first} = await scriptedSession();
	const calls = [client.attach('p'), client.attach('named')];
	await first.answer('process/attach', attachment());
	await first.answer('process/attach', attachment());
	const [one, other] = await Promise.all(calls);
	expect(other).toBe(one);
});

test('events that are gone are a gap with its size, or without where the server does not tell', async () => {
	const session = await scriptedSession();
	const process = await attached(session, {}, {firstSeq: 5, nextSeq: 5});
	session.first.output('p', 5);
	session.first.notify('process/gap', {processId: 'p', afterSeq: 5, throughSeq: 8, missedBytes: 300});
	session.first.output('p', 9);
	expect(await eventsThrough(process, 9)).toEqual(['gap 0..4 (unknown)', '5,', 'gap 5..8 (300)', '9,']);
});

test('a process that is not there, or that another drives, is refused with the words of the server', async () => {
	const {client, first} = await scriptedSession();
	const attaching = client.attach('p', {role: 'drive'});
	await first.refuse('process/attach', NOT_DRIVER);
	await expect(attaching).rejects.toMatchObject({errorCode: 'NOT_DRIVER', context: {driver: 'bob'}});
	await expect(client.attach('p', {role: 'watch'} as object)).rejects.toThrow("must be 'observe' or 'drive'");
	await expect(client.attach('p', {takover: true} as object)).rejects.toThrow('did you mean `takeover`?');
});

test('a server without the capability has the processes of the session only', async () => {
	const {client, first} = await scriptedSession({processList: true});
	await expect(client.attach('p', {role: 'observe'})).rejects.toMatchObject({
		code: 'NOT_SUPPORTED',
		message: 'this executor has no attach() with a role (processAttach)',
	});
	const attaching = client.attach('p');
	await first.refuse('process/read', {message: 'unknown process id p'});
	await expect(attaching).rejects.toThrow('unknown process id p');
	await expect(client.list({all: true})).rejects.toThrow('(processAttach)');
});

test('a process of a resumed session is driven without asking for it', async () => {
	const {client, first} = await scriptedSession(SHARING, {resumeSessionId: 'session'});
	const attaching = client.attach('mine');
	const entry = {pid: 5, argv: ['x'], tty: false, startedAtMs: 0, ageMs: 0, outputBytes: 0, exitCode: null};
	const more = {state: 'running', reason: null, descendants: []};
	await first.answer('process/list', {processes: [{processId: 'mine', ...entry, ...more}]});
	const state = {chunks: [], nextSeq: 1, exited: false, exitCode: null, closed: false, failure: null};
	await first.answer('process/read', state);
	expect((await attaching).role).toBe('drive');
});

test('a started process is driven by its client until another one takes over, and the refusal tells the same', async () => {
	const {client, first} = await scriptedSession();
	const starting = client.start({...sh('p', 'cat', {pipeStdin: true}), name: 'shell'});
	await first.answer('process/start', {processId: 'p'});
	const {process} = await starting;
	expect([process.role, process.driver, process.name]).toEqual(['drive', undefined, 'shell']);
	const changes = changesOf(process);
	const taken = {driver: 'bob', previous: 'agent', reason: 'takeover'} as const;
	first.notify('process/driverChanged', {processId: 'p', ...taken});
	const writing = process.write('x');
	await first.refuse('process/write', NOT_DRIVER);
	await expect(writing).rejects.toMatchObject({errorCode: 'NOT_DRIVER'});
	expect([process.role, process.driver]).toEqual(['observe', 'bob']);
	expect(changes).toEqual([{kind: 'driverChanged', ...taken}]);

	const taking = process.takeOver({size: {rows: 3, cols: 4}});
	const size = {rows: 3, cols: 4};
	expect(await first.answer('process/attach', attachment({role: 'drive', driver: 'agent'}))).toEqual({
		process: 'p',
		role: 'drive',
		takeover: true,
		afterSeq: 0,
		size,
	});
	await taking;
	expect([process.role, process.driver]).toEqual(['drive', 'agent']);
	// A server may tell the new driver, too.
	first.notify('process/driverChanged', {processId: 'p', driver: 'agent', previous: 'bob', reason: 'takeover'});
	first.output('p', 1);
	expect(await eventsThrough(process, 1)).toEqual(['1,']);
	expect(process.role).toBe('drive');
});

test('a driver that gives the seat back keeps watching from where it is', async () => {
	const session = await scriptedSession();
	const {first} = session;
	const process = await attached(session, {role: 'drive'}, {role: 'drive', driver: 'me'});
	first.output('p', 1);
	expect(await eventsThrough(process, 1)).toEqual(['1,']);
	const giving = process.giveBack();
	expect(await first.answer('process/detach', {})).toEqual({processId: 'p'});
	const again = attachment({processId: 'p~2', nextSeq: 2});
	expect(await first.answer('process/attach', again)).toMatchObject({process: 'p', role: 'observe', afterSeq: 1});
	await giving;
	first.output('p~2', 2);
	expect(await eventsThrough(process, 2)).toEqual(['1,', '2,']);
	expect([process.role, process.driver, process.processId]).toEqual(['observe', undefined, 'p~2']);
});

test('a driver that gives the seat back and may not watch has lost the process', async () => {
	const session = await scriptedSession();
	const process = await attached(session, {role: 'drive'}, {role: 'drive', driver: 'me'});
	const giving = process.giveBack();
	await session.first.answer('process/detach', {});
	await session.first.refuse('process/attach', {message: 'not for you'});
	await expect(giving).rejects.toThrow('not for you');
	await expect(process.closed).rejects.toThrow('failed to attach to process p: not for you');
});

test('changes around a process are told until the listener has enough', async () => {
	const session = await scriptedSession();
	const {first} = session;
	const process = await attached(session);
	const changes: ProcessChange[] = [];
	const stop = process.onChange(change => changes.push(change));
	first.notify('process/attached', {processId: 'p', client: 'carol', role: 'observe'});
	first.notify('process/resized', {processId: 'p', rows: 7, cols: 8});
	first.notify('process/driverChanged', {processId: 'p', driver: null, previous: 'bob', reason: 'disconnected'});
	first.notify('process/detached', {processId: 'p', client: 'carol', role: 'observe'});
	first.output('p', 1);
	await eventsThrough(process, 1);
	stop();
	first.notify('process/resized', {processId: 'p', rows: 9, cols: 9});
	first.output('p', 2);
	await eventsThrough(process, 2);
	expect(changes).toEqual([
		{kind: 'attached', client: 'carol', role: 'observe'},
		{kind: 'resized', rows: 7, cols: 8},
		{kind: 'driverChanged', driver: undefined, previous: 'bob', reason: 'disconnected'},
		{kind: 'detached', client: 'carol', role: 'observe'},
	]);
});

test('a handle that has detached ends quietly, and the process can be attached to anew', async () => {
	const session = await scriptedSession();
	const {client, first} = session;
	const process = await attached(session);
	const events = process.events();
	const waiting = events.next();
	const detaching = process.detach();
	await first.answer('process/detach', {});
	await detaching;
	expect(await waiting).toEqual({done: true, value: undefined});
	expect(await process.events().next()).toEqual({done: true, value: undefined});
	await expect(process.exited).rejects.toThrow('this client has detached');
	await expect(process.takeOver()).rejects.toThrow('this client has detached');
	expect(process.isOver).toBe(true);
	const next = client.attach('p');
	await first.answer('process/attach', attachment());
	expect(await next).not.toBe(process);
});

test('the end of a scope leaves a process of another client alone', async () => {
	const session = await scriptedSession();
	const disposing = (await attached(session))[Symbol.asyncDispose]();
	expect(await session.first.answer('process/detach', {})).toEqual({processId: 'p'});
	await disposing;
});

test('after a lost connection a process is attached to again, with its role, from where it was', async () => {
	const session = await scriptedSession();
	const {client, first} = session;
	const process = await attached(session, {role: 'drive'}, {role: 'drive', driver: 'me'});
	const changes = changesOf(process);
	first.output('p', 1);
	expect(await eventsThrough(process, 1)).toEqual(['1,']);
	first.cut();
	const second = await session.resumed(1);
	const {id, params} = await second.asked('process/attach');
	expect(params).toEqual({process: 'p', role: 'drive', takeover: false, afterSeq: 1});
	second.output('p~1', 2);
	second.peer.send({id, result: attachment({processId: 'p~1', role: 'drive', driver: 'me', nextSeq: 3})});
	await client.recovered();
	second.output('p~1', 3);
	expect(await eventsThrough(process, 3)).toEqual(['1,', '2,', '3,']);
	expect([process.role, changes]).toEqual(['drive', []]);
	const writing = process.write('x');
	expect(await second.answer('process/write', {status: 'accepted'})).toMatchObject({processId: 'p~1'});
	await writing;
});

test('a seat that was taken while the connection was lost is left, and listeners are told', async () => {
	const session = await scriptedSession();
	const process = await attached(session, {role: 'drive'}, {role: 'drive', driver: 'me'});
	const changes = changesOf(process);
	session.first.cut();
	const second = await session.resumed(1);
	await second.refuse('process/attach', NOT_DRIVER);
	const again = await second.answer('process/attach', attachment({role: 'observe', driver: 'bob'}));
	expect(again).toMatchObject({role: 'observe', takeover: false});
	await session.client.recovered();
	expect([process.role, process.driver]).toEqual(['observe', 'bob']);
	expect(changes).toEqual([{kind: 'driverChanged', driver: 'bob', previous: 'me', reason: 'disconnected'}]);
});

test('a process of another client that is gone after a lost connection fails, and is not ended', async () => {
	const session = await scriptedSession();
	const process = await attached(session);
	session.first.cut();
	const second = await session.resumed(1);
	await second.refuse('process/attach', {message: 'unknown process id p'});
	await expect(process.closed).rejects.toThrow('failed to recover process p: ');
	await session.client.recovered();
	const status = session.client.status();
	await second.answer('environment/status', {status: 'ready'});
	await status;
});

test('with back-pressure the first reader of an attached process misses nothing', async () => {
	const session = await scriptedSession();
	const process = await attached(session, {backpressure: true});
	const count = 3000;
	for (let seq = 1; seq <= count; seq++) session.first.output('p', seq, 'x');
	const events = await eventsThrough(process, count);
	expect([events.length, new Set(events)]).toEqual([count, new Set(['x'])]);
});

test('processes are listed with the options as they are', async () => {
	const {client, first} = await scriptedSession();
	const listing = client.list({all: true, labels: {team: 'web'}, includeEnded: true});
	const entry = {processId: 'p', state: 'lost', pid: null, argv: ['x'], tty: true, startedAtMs: 1, ageMs: 2};
	const more = {outputBytes: 0, exitCode: null, reason: null, descendants: [], name: 'build', labels: {team: 'web'}};
	const params = await first.answer('process/list', {processes: [{...entry, ...more}]});
	expect(params).toEqual({all: true, labels: {team: 'web'}, includeEnded: true});
	expect(await listing).toEqual([{...entry, ...more}]);
	const own = client.list();
	expect(await first.answer('process/list', {processes: []})).toEqual({});
	expect(await own).toEqual([]);
	await expect(client.list({lables: {}} as object)).rejects.toThrow('did you mean `labels`?');
});
