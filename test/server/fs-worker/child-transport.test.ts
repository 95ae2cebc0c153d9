import {expect, test} from 'vitest';
import type {Backend, Child, ChildEvents} from '../../../src/processes/backends/backend.js';
import {spawnTransport} from '../../../src/server/fs-worker/child-transport.js';
import {eventually} from '../../helpers/processes.js';

const REQUEST = {file: '/bin/true', argv: ['true'], cwd: Buffer.from('/'), environment: new Map<string, string>()};
const LINE = Buffer.from(`"${'x'.repeat(1000)}"\n`);
/** More than a stream that nobody reads takes. */
const MAX_LINES = 1000;

/** A transport over a child of which only what it is asked to do is real. */
async function transported() {
	const asked: string[] = [];
	const messages: string[] = [];
	const said: string[] = [];
	const tell = (what: string) => () => void asked.push(what);
	let child!: ChildEvents;
	const backend = {
		spawn: (_request: unknown, events: ChildEvents) => {
			child = events;
			return {
				pause: tell('pause'),
				resume: tell('resume'),
				drainAndClose: tell('close'),
				signal: (name: string) => void asked.push(name),
				stdin: {write: (_bytes: unknown, done: () => void) => done(), end: tell('end'), destroy: tell('destroy')},
			} as unknown as Child;
		},
	} as unknown as Backend;
	const transport = await spawnTransport(backend, REQUEST, text => void said.push(text));
	const closed = new Promise<Error | undefined>(resolve => {
		transport.open({
			message: text => void messages.push(text),
			unreadable: () => {},
			drained: () => {},
			closed: resolve,
		});
	});
	return {transport, child, asked, messages, said, closed};
}

test('a child is not read from while nobody takes what it says, and nothing is lost', async () => {
	const {transport, child, asked, messages} = await transported();
	child.output('stdout', LINE);
	await eventually(() => messages.length === 1);
	expect(asked).not.toContain('pause');
	transport.pause();
	asked.length = 0;
	let lines = 1;
	while (!asked.includes('pause') && lines < MAX_LINES) {
		child.output('stdout', LINE);
		lines++;
	}
	expect([asked, lines < MAX_LINES]).toEqual([['pause'], true]);
	transport.resume();
	await eventually(() => asked.at(-1) === 'resume');
	await eventually(() => messages.length === lines);
});

test('what a child complains of is told, and is why its transport closed', async () => {
	const {child, asked, messages, said, closed} = await transported();
	child.output('stderr', Buffer.from('no room\n'));
	child.streamEnded('stdout');
	expect(await closed).toEqual(new Error('no room'));
	expect([said, messages]).toEqual([['no room\n'], []]);
	expect(asked.filter(what => what !== 'resume')).toEqual(['SIGKILL', 'destroy', 'close']);
});
