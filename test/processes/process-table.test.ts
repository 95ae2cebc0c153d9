import {readdirSync} from 'node:fs';
import {join} from 'node:path';
import {describe, expect, onTestFinished, test, vi} from 'vitest';
import type {Backend} from '../../src/processes/backends/backend.js';
import type {ManagedProcess} from '../../src/processes/managed-process.js';
import type {StartRequest} from '../../src/processes/prepare-spawn.js';
import {ProcessTable, type ProcessTableOptions} from '../../src/processes/process-table.js';
import {ProcessSpill} from '../../src/processes/spill/process-spill.js';
import {StartQueue} from '../../src/processes/start-queue.js';
import {signalProcess} from '../../src/processes/tree/signals.js';
import {nativeBackend} from '../helpers/children.js';
import {stopClock} from '../helpers/clock.js';
import {openFilesBelow} from '../helpers/open-files.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {metaOf} from '../helpers/spills.js';
import {waitTicks} from '../helpers/ticks.js';

const backend = nativeBackend();
const KEPT = {spill: {recordsInput: false}} as const;

/** A table with what it told of, and a way to wait for more. */
class Watched {
	readonly #clock = {ms: 0};
	readonly starts = new StartQueue(() => this.#clock.ms);
	readonly added: string[] = [];
	readonly table: ProcessTable;
	readonly #watchers = new Set<() => void>();

	constructor(options: Partial<ProcessTableOptions> = {}) {
		this.table = new ProcessTable({
			backend: () => backend,
			starts: this.starts,
			retention: {bytes: 10_000, chunks: 100},
			retainClosedMs: 60_000,
			variables: {},
			quotas: [],
			...options,
		});
		this.table.onAdded(({id, log}) => {
			this.added.push(`${id} at ${log.nextSeq}`);
			log.watch(() => {
				for (const look of this.#watchers) look();
			});
		});
		onTestFinished(() => {
			this.table.endAll('force');
			this.table.dispose();
		});
	}

	/** Looks at once and whenever some process of the table has news. */
	until(probe: () => boolean): Promise<void> {
		return new Promise(resolve => {
			const look = (): void => {
				if (!probe()) return;
				this.#watchers.delete(look);
				resolve();
			};
			this.#watchers.add(look);
			look();
		});
	}

	closed(process: ManagedProcess): Promise<void> {
		return this.until(() => process.state.kind === 'closed');
	}

	shows(process: ManagedProcess, text: string): Promise<void> {
		return this.until(() => textOf(process).includes(text));
	}

	/** The process has exited and a descendant, whose pid it told, holds its output. */
	async leavesSurvivor(process: ManagedProcess): Promise<void> {
		await this.until(() => process.state.kind === 'exited');
		const pid = Number(textOf(process));
		onTestFinished(() => void signalProcess(pid, 'SIGKILL'));
	}

	sh(id: string, script: string, changes: Partial<StartRequest> = {}): Promise<ManagedProcess> {
		return this.table.start(id, {
			argv: ['/bin/sh', '-c', script],
			arg0: undefined,
			cwd: Buffer.from('/tmp'),
			env: {PATH: '/usr/bin:/bin'},
			environmentPolicy: undefined,
			io: {kind: 'pipes', stdin: false},
			...changes,
		});
	}

	/** Uses up the time for starts of this turn: the next one has to wait. */
	spendTurn(): void {
		this.starts.run({}, () => {
			this.#clock.ms += 5;
		});
	}
}

function textOf({log}: ManagedProcess): string {
	return Buffer.concat(log.read(0).chunks.map(({bytes}) => bytes)).toString();
}

const exists = (processId: string): object => ({
	code: 'PROCESS_EXISTS',
	message: `process ${processId} already exists`,
	context: {processId},
});

describe('start', () => {
	test('adds a process under its id before anything is in its log', async () => {
		const watched = new Watched();
		const first = await watched.sh('a', 'echo out');
		const second = await watched.sh('b', 'true');
		expect([watched.table.find('a'), watched.table.find('b'), watched.table.find('c')]).toEqual([
			first,
			second,
			undefined,
		]);
		expect([...watched.table]).toEqual([first, second]);
		expect(watched.added).toEqual(['a at 1', 'b at 1']);
		await watched.closed(first);
		expect({text: textOf(first), state: first.state}).toMatchObject({
			text: 'out\n',
			state: {kind: 'closed', exitCode: 0},
		});
	});

	test('gives the child what the policy makes of the variables of the server', async () => {
		const watched = new Watched({variables: {GREETING: 'hello', API_KEY: 'secret'}});
		const environmentPolicy = {
			inherit: 'all',
			ignoreDefaultExcludes: false,
			exclude: [],
			set: {},
			includeOnly: [],
		} as const;
		const process = await watched.sh('a', 'echo $GREETING $API_KEY', {environmentPolicy});
		await watched.closed(process);
		expect(textOf(process)).toBe('hello\n');
	});

	test('takes the id at once and refuses it to others', async () => {
		const watched = new Watched();
		watched.spendTurn();
		const starting = watched.sh('a', 'exec sleep 1000');
		expect(watched.table.find('a')?.state.kind).toBe('starting');
		await expect(watched.sh('a', 'true')).rejects.toMatchObject(exists('a'));
		await starting;
		await expect(watched.sh('a', 'true', {argv: ['missing']})).rejects.toMatchObject(exists('a'));
	});

	test.each([
		['because of the program', {argv: ['missing']}, 'PROGRAM_NOT_FOUND'],
		['because of the directory', {cwd: Buffer.from('/missing')}, 'CWD_UNUSABLE'],
	])('that is refused %s leaves the id free', async (_, changes, code) => {
		const watched = new Watched();
		await expect(watched.sh('a', '', changes)).rejects.toMatchObject({
			code,
			context: {error: 'ENOENT'},
		});
		expect([...watched.table]).toEqual([]);
		await watched.closed(await watched.sh('a', 'true'));
	});

	test('that is cancelled while it waits for its turn spawns nothing and leaves the id free', async () => {
		const spawned: string[] = [];
		const counting: Backend = {
			name: 'counting',
			spawn(request, events) {
				spawned.push(request.argv.at(-1)!);
				return backend.spawn(request, events);
			},
		};
		const watched = new Watched({backend: () => counting});
		watched.spendTurn();
		const cancelled = watched.sh('a', 'cancelled');
		const other = watched.sh('b', 'true');
		expect(watched.table.find('a')!.terminate().running).toBe(true);
		// Free at once, before anybody has heard of the end of the first.
		expect(watched.table.find('a')).toBeUndefined();
		const again = watched.sh('a', 'exit 4');
		await expect(cancelled).rejects.toMatchObject({code: 'START_CANCELLED', message: 'process a start was cancelled'});
		await watched.closed(await other);
		await watched.closed(await again);
		expect(watched.table.find('a')?.state).toMatchObject({kind: 'closed', exitCode: 4});
		expect(spawned).toEqual(['true', 'exit 4']);
	});

	test.each([
		['fails', 'CWD_UNUSABLE', (watched: Watched) => watched.sh('a', 'true', {...KEPT, cwd: Buffer.from('/missing')})],
		[
			'is cancelled',
			'START_CANCELLED',
			(watched: Watched) => {
				watched.spendTurn();
				const cancelled = watched.sh('a', 'true', KEPT);
				watched.table.find('a')!.terminate();
				return cancelled;
			},
		],
	])('that %s leaves no file behind when its id is taken before its caller hears of it', async (_, code, fail) => {
		const directory = scratchDirectory();
		const removed: string[] = [];
		let openCount = 0;
		const watched = new Watched({
			openSpill: id => ProcessSpill.create(join(directory, `${id}${openCount++}`), metaOf(id)),
			removed: ({state}) => removed.push(state.kind),
		});
		const failed = fail(watched);
		const again = watched.sh('a', 'true', KEPT);
		await expect(failed).rejects.toMatchObject({code});
		await watched.closed(await again);
		expect(watched.table.find('a')).toBe(await again);
		expect(openFilesBelow(directory)).toEqual([]);
		expect(removed).toEqual(['failed']);
		expect(readdirSync(directory)).not.toContain('a0');
	});

	test('that fails goes on when the disk does not give its files back', async () => {
		const directory = scratchDirectory();
		const spill = ProcessSpill.create(join(directory, 'a'), metaOf('a'));
		let attempts = 0;
		spill.discard = async () => {
			attempts++;
			throw new Error('input/output error');
		};
		const watched = new Watched({openSpill: () => spill});
		await expect(watched.sh('a', 'true', {...KEPT, cwd: Buffer.from('/missing')})).rejects.toMatchObject({
			code: 'CWD_UNUSABLE',
		});
		// A rejection that nothing handles would fail the test, as it ends a server.
		await waitTicks(2);
		expect(attempts).toBe(1);
	});
});

describe('a closed process', () => {
	test('stays readable and keeps its id until it is evicted', async () => {
		const watched = new Watched({retainClosedMs: 20});
		stopClock();
		const process = await watched.sh('a', 'echo out');
		await watched.closed(process);
		vi.advanceTimersByTime(19);
		expect(watched.table.find('a')).toBe(process);
		await expect(watched.sh('a', 'true')).rejects.toMatchObject(exists('a'));
		vi.advanceTimersByTime(1);
		expect(watched.table.find('a')).toBeUndefined();
		await watched.closed(await watched.sh('a', 'true'));
	});

	test('is kept from its close on, not from its exit', async () => {
		const watched = new Watched({retainClosedMs: 20});
		stopClock();
		const process = await watched.sh('a', 'sleep 1000 & echo $!');
		await watched.leavesSurvivor(process);
		// An eviction that began at the exit would be over.
		vi.advanceTimersByTime(1000);
		expect(watched.table.find('a')).toBe(process);
		process.closeStreams();
		await watched.closed(process);
		vi.advanceTimersByTime(19);
		expect(watched.table.find('a')).toBe(process);
		vi.advanceTimersByTime(1);
		expect(watched.table.find('a')).toBeUndefined();
	});

	test('can be kept for longer than any timer', async () => {
		const watched = new Watched({retainClosedMs: 2 ** 40});
		stopClock();
		const process = await watched.sh('a', 'true');
		await watched.closed(process);
		// A timer that overflows fires after 1 ms.
		vi.advanceTimersByTime(1000);
		expect(watched.table.find('a')).toBe(process);
	});
});

/** `come` is true once the promise has settled. */
function observe(event: Promise<void>): {come: boolean} {
	const observed = {come: false};
	void (async () => {
		await event;
		observed.come = true;
	})();
	return observed;
}

describe('quiet', () => {
	test('is at once when nothing runs', async () => {
		const observed = observe(new Watched().table.allExited());
		await waitTicks(1);
		expect(observed.come).toBe(true);
	});

	test('comes with the last exit and does not wait for streams that others hold', async () => {
		const watched = new Watched();
		const first = await watched.sh('a', 'read line; sleep 1000 & echo $!', {io: {kind: 'pipes', stdin: true}});
		const second = await watched.sh('b', 'read line', {io: {kind: 'pipes', stdin: true}});
		const quiet = watched.table.allExited();
		const observed = observe(quiet);
		await first.write(Buffer.from('\n'), undefined);
		await watched.leavesSurvivor(first);
		await waitTicks(1);
		expect(observed.come).toBe(false);
		await second.write(Buffer.from('\n'), undefined);
		await quiet;
		expect([first.state.kind, second.state.kind]).toEqual(['exited', expect.stringMatching(/exited|closed/)]);
	});

	test('waits for a process that is starting, and comes when the start fails', async () => {
		const watched = new Watched();
		watched.spendTurn();
		const starting = watched.sh('a', 'true', {cwd: Buffer.from('/missing')});
		const quiet = watched.table.allExited();
		const observed = observe(quiet);
		await Promise.resolve();
		expect(observed.come).toBe(false);
		await expect(starting).rejects.toMatchObject({code: 'CWD_UNUSABLE'});
		await quiet;
	});
});

test('silent comes when the output of every process is over, too', async () => {
	const watched = new Watched();
	const process = await watched.sh('a', 'sleep 1000 & echo $!');
	const silent = watched.table.allClosed();
	const observed = observe(silent);
	await watched.leavesSurvivor(process);
	await waitTicks(1);
	expect(observed.come).toBe(false);
	process.closeStreams();
	await silent;
	expect(process.state.kind).toBe('closed');
});

const POLITE_PROGRAM = `
	process.on('SIGTERM', () => {
		console.log('bye');
		process.exit(5);
	});
	console.log('up');
	setInterval(() => {}, 1000);
`;

describe('end', () => {
	test('asks with SIGTERM, which a program may answer', async () => {
		const watched = new Watched();
		// No shell: its traps wait for the command that runs, and that gets the signal too.
		const polite = await watched.sh('a', '', {argv: [process.execPath, '-e', POLITE_PROGRAM]});
		const plain = await watched.sh('b', 'echo up; exec sleep 1000');
		await watched.shows(polite, 'up');
		await watched.shows(plain, 'up');
		watched.table.endAll('ask');
		await watched.table.allExited();
		await watched.closed(polite);
		await watched.closed(plain);
		expect([polite.state, plain.state, textOf(polite)]).toMatchObject([
			{kind: 'closed', exitCode: 5},
			{kind: 'closed', exitCode: 143},
			'up\nbye\n',
		]);
	});

	test('forces what starts, what runs and what others hold', async () => {
		const watched = new Watched();
		const stubborn = await watched.sh('a', 'trap "" TERM; echo up; sleep 1000');
		const held = await watched.sh('b', 'sleep 1000 & echo $!');
		await watched.shows(stubborn, 'up');
		await watched.leavesSurvivor(held);
		watched.spendTurn();
		const starting = watched.sh('c', 'true');
		watched.table.endAll('force');
		await expect(starting).rejects.toMatchObject({code: 'START_CANCELLED'});
		await watched.table.allExited();
		await watched.closed(stubborn);
		await watched.closed(held);
		expect([stubborn.state, held.state]).toMatchObject([
			{kind: 'closed', exitCode: 137},
			{kind: 'closed', exitCode: 0},
		]);
	});
});

test('a disposed table has forgotten everything, and nobody waits for it', async () => {
	const watched = new Watched();
	const process = await watched.sh('a', 'exec sleep 1000');
	const quiet = watched.table.allExited();
	watched.table.dispose();
	await quiet;
	expect([...watched.table]).toEqual([]);
	process.terminate();
	await watched.closed(process);
	expect(watched.table.find('a')).toBeUndefined();
});
