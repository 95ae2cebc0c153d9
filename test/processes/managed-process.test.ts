import {readFileSync} from 'node:fs';
import {describe, expect, test} from 'vitest';
import type {Backend, Child, ChildEvents} from '../../src/processes/backends/backend.js';
import {createChildProcessBackend} from '../../src/processes/backends/node/child-process-backend.js';
import {signalProcess} from '../../src/processes/tree/signals.js';
import {
	describeEachBackend,
	nativeBackend,
	PIPES,
	PIPES_WITH_STDIN,
	PTY,
	Report,
	run,
	sh,
} from '../helpers/children.js';
import {Managed, readPrintedPid} from '../helpers/managed.js';
import {waitTicks} from '../helpers/ticks.js';

describeEachBackend(backend => {
	describe('a process', () => {
		test('is starting, running, exited and closed, and the log tells of it', async () => {
			const managed = new Managed();
			const {process} = managed;
			expect(process.state).toEqual({kind: 'starting'});
			await process.spawn(backend, sh('echo hello; exit 3', PIPES));
			expect(process.state.kind).toBe('running');
			await process.started;
			await managed.reaches('closed');
			expect(process.state).toMatchObject({kind: 'closed', exitCode: 3});
			expect(managed.events).toEqual([
				{kind: 'output', seq: 1, stream: 'stdout', bytes: Buffer.from('hello\n')},
				{kind: 'exited', seq: 2, exitCode: 3, reason: 'exit'},
				{kind: 'closed', seq: 3},
			]);
			expect(managed.closings).toBe(1);
		});

		test('on a terminal has one stream', async () => {
			const managed = new Managed();
			await managed.process.spawn(backend, sh('echo hello; exit 3', PTY));
			await managed.reaches('closed');
			expect(managed.process.state).toMatchObject({kind: 'closed', exitCode: 3});
			expect(managed.events.map(event => event.kind === 'output' && event.stream)).toContain('pty');
			expect(managed.text).toBe('hello\r\n');
		});

		test('is exited and not closed while somebody holds its output, and what comes late is kept', async () => {
			const managed = new Managed();
			// The descendant waits for the end of the input, which comes with the exit.
			const script = 'exec 3<&0; { cat <&3; echo late; } & echo early';
			await managed.process.spawn(backend, sh(script, PIPES_WITH_STDIN));
			await managed.reaches('exited');
			expect(managed.process.state).toMatchObject({kind: 'exited', exitCode: 0});
			await managed.reaches('closed');
			expect(managed.events).toEqual([
				{kind: 'output', seq: 1, stream: 'stdout', bytes: Buffer.from('early\n')},
				{kind: 'exited', seq: 2, exitCode: 0, reason: 'exit'},
				{kind: 'output', seq: 3, stream: 'stdout', bytes: Buffer.from('late\n')},
				{kind: 'closed', seq: 4},
			]);
		});

		test('that cannot be started has failed, and whoever waits for the start learns why', async () => {
			const managed = new Managed();
			const {process} = managed;
			await process.spawn(backend, sh('true', PIPES, {cwd: Buffer.from('/missing')}));
			const error = {code: 'SPAWN_FAILED', message: 'No such file or directory (os error 2)'};
			await expect(process.started).rejects.toMatchObject(error);
			expect(process.state).toMatchObject({kind: 'failed', error});
			expect({events: managed.events, terminated: process.terminate().running}).toEqual({
				events: [],
				terminated: false,
			});
		});
	});

	describe('input', () => {
		test('reaches the program, vanishes after its exit and is accepted all the same', async () => {
			const managed = new Managed();
			const {process} = managed;
			await process.spawn(backend, sh('read line; echo got $line', PIPES_WITH_STDIN));
			expect(process.takesInput).toBe(true);
			await process.write(Buffer.from('this\n'), undefined);
			await managed.reaches('closed');
			await process.write(Buffer.from('that\n'), undefined);
			expect(managed.text).toBe('got this\n');
		});

		test('is refused after a terminate', async () => {
			const managed = new Managed();
			const {process} = managed;
			await process.spawn(backend, sh('exec sleep 1000', PTY));
			process.terminate();
			expect(() => process.write(Buffer.from('x'), undefined)).toThrow(expect.objectContaining({code: 'STDIN_FAILED'}));
			await managed.reaches('closed');
		});

		test('does not exist without a pipe or a terminal', async () => {
			const managed = new Managed();
			await managed.process.spawn(backend, sh('true', PIPES));
			expect(managed.process.takesInput).toBe(false);
			await managed.reaches('closed');
		});
	});

	describe('a signal', () => {
		test('goes to the whole group', async () => {
			const managed = new Managed();
			await managed.process.spawn(backend, sh('sleep 1000 & echo up; wait', PIPES));
			await managed.shows('up');
			managed.process.signal('SIGTERM');
			// Closed means that nobody holds the output any more.
			await managed.reaches('closed');
			expect(managed.process.state).toMatchObject({kind: 'closed', exitCode: 143});
		});

		test('goes nowhere after the exit, although the group lives on', async () => {
			const managed = new Managed();
			await managed.process.spawn(backend, sh('sleep 1000 & echo pid $!', PIPES));
			const pid = await readPrintedPid(managed);
			await managed.reaches('exited');
			managed.process.signal('SIGKILL');
			expect(await survivor(managed, pid)).toEqual({process: 'exited', descendant: 'alive'});
		});
	});

	describe('terminate', () => {
		test('kills the group at once', async () => {
			const managed = new Managed();
			await managed.process.spawn(backend, sh('trap "" TERM INT HUP; echo up; sleep 1000', PIPES));
			await managed.shows('up');
			expect(managed.process.terminate().running).toBe(true);
			await managed.reaches('closed');
			expect(managed.process.state).toMatchObject({kind: 'closed', exitCode: 137});
			expect(managed.process.terminate().running).toBe(false);
		});

		test('closes although a descendant with a session of its own holds the output', async () => {
			const managed = new Managed();
			await managed.process.spawn(backend, sh('setsid sleep 1000 & echo pid $!; exec sleep 1000', PIPES));
			const pid = await readPrintedPid(managed);
			managed.process.terminate();
			await managed.reaches('closed');
			expect(managed.events.slice(1)).toEqual([
				{kind: 'exited', seq: 2, exitCode: 137, reason: 'terminated'},
				{kind: 'closed', seq: 3},
			]);
			// Ended with the tree if its session was not its own yet.
			signalProcess(pid, 'SIGKILL');
		});

		test('of a process that has exited answers no and leaves the survivors alone', async () => {
			const managed = new Managed();
			await managed.process.spawn(backend, sh('sleep 1000 & echo pid $!', PIPES));
			const pid = await readPrintedPid(managed);
			await managed.reaches('exited');
			expect(managed.process.terminate().running).toBe(false);
			expect(await survivor(managed, pid)).toEqual({process: 'exited', descendant: 'alive'});
		});
	});

	/** Lets another child come and go, looks at the two states and ends both. */
	async function survivor(managed: Managed, pid: number): Promise<object> {
		await run(backend, sh('true', PIPES));
		const {kind} = managed.process.state;
		managed.process.closeStreams();
		await managed.reaches('closed');
		const [state] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!;
		process.kill(pid, 'SIGKILL');
		return {process: kind, descendant: state === 'Z' ? 'dead' : 'alive'};
	}
});

describe('a start that is cancelled', () => {
	const cancelled = {code: 'START_CANCELLED', message: 'process p start was cancelled'};

	test('while it waits for its turn never spawns', async () => {
		const {process} = new Managed();
		let spawned = 0;
		const backend: Backend = {
			name: 'counting',
			spawn: (...parameters) => {
				spawned++;
				return nativeBackend().spawn(...parameters);
			},
		};
		expect(process.terminate().running).toBe(true);
		await process.spawn(backend, sh('true', PIPES));
		await expect(process.started).rejects.toMatchObject(cancelled);
		expect({spawned, kind: process.state.kind, again: process.terminate().running}).toEqual({
			spawned: 0,
			kind: 'failed',
			again: false,
		});
	});

	test('while its child has yet to become the program ends the child at once', async () => {
		const {process} = new Managed();
		let cancels = 0;
		const pending = Object.assign(new Promise<Child>(() => {}), {cancel: () => void cancels++});
		void process.spawn({name: 'pending', spawn: () => pending}, sh('true', PIPES));
		expect(process.terminate().running).toBe(true);
		await expect(process.started).rejects.toMatchObject(cancelled);
		expect(cancels).toBe(1);
	});

	test('while the backend is at it kills the child that comes of it', async () => {
		const managed = new Managed();
		const report = new Report();
		let child: Child | undefined;
		const backend: Backend = {
			name: 'telling',
			async spawn(request, events) {
				const exited: ChildEvents['exited'] = end => {
					report.exited(end);
					events.exited(end);
				};
				child = await createChildProcessBackend().spawn(request, {...events, exited});
				return child;
			},
		};
		const spawning = managed.process.spawn(backend, sh('exec sleep 1000', PIPES));
		expect(managed.process.terminate().running).toBe(true);
		await spawning;
		await expect(managed.process.started).rejects.toMatchObject(cancelled);
		await report.until(() => report.exits.length > 0);
		expect(report.exits).toEqual([137]);
		await waitTicks();
		expect({kind: managed.process.state.kind, events: managed.events}).toEqual({kind: 'failed', events: []});
	});
});
