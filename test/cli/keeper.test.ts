// covers: src/server/keeper, src/cli/commands/keeper/keep.ts
import {execFileSync} from 'node:child_process';
import {existsSync, readdirSync, readFileSync, readlinkSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {setTimeout} from 'node:timers/promises';
import {describe, expect, test} from 'vitest';
import {withTimeEnough} from '../helpers/clock.js';
import {
	attachTo,
	crash,
	DURABLE,
	findKeeper,
	listAll,
	listLivingKeepers,
	listOne,
	serveState,
	serveStateUnprivileged,
	stateDirectory,
	untilNoKeeper,
} from '../helpers/keepers.js';
import {needs, needsRoot, unless} from '../helpers/needs.js';
import {joined, OPEN_STDIN, refusal, TERMINAL, toldPids} from '../helpers/process-api.js';
import {eventually, isAlive, untilDead} from '../helpers/processes.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {findWatchdog, noUnprivilegedServer, UNMARK} from '../helpers/subreaper.js';

const USERS = [
	['as this user', serveState, {}, undefined],
	['without privileges', serveStateUnprivileged, {isForOtherUser: true}, noUnprivilegedServer()],
] as const;

/** Prints a line, waits for one, prints it, and exits. */
const ECHO = 'echo begun $$; read -r line; echo "got $line"; exit 7';

describe.each(USERS)('a server %s', (_, serve, place, why) => {
	test('that is killed leaves its durable processes to the next one, and nothing else', unless(why), async () => {
		const state = stateDirectory(place);
		const first = await serve(state);
		await first.client.sh('kept', ECHO, {...DURABLE, ...OPEN_STDIN, name: 'the-build', labels: {a: 'b'}});
		await first.client.sh('plain', 'echo $$; exec sleep 1000');
		await first.client.sh('spilled', 'echo $$; exec sleep 1000', {onDisconnect: 'keep', spill: {}});
		await first.client.shows('kept', 'begun');
		const [plain] = await toldPids(first.client, 'plain', 1);
		const [spilled] = await toldPids(first.client, 'spilled', 1);
		const {pid, generation} = (await listOne(first.client, 'kept'))!;
		const watchdog = await findWatchdog(first.command.pid);
		await crash(first);
		await untilDead(plain!, spilled!, watchdog);
		expect(isAlive(pid)).toBe(true);

		const second = await serve(state);
		expect(await listOne(second.client, 'kept')).toMatchObject({
			state: 'running',
			pid,
			generation,
			durable: true,
			name: 'the-build',
			labels: {a: 'b'},
		});
		expect(await listOne(second.client, 'plain')).toBeUndefined();
		expect(await listOne(second.client, 'spilled')).toMatchObject({state: 'lost', exitCode: null});
		await attachTo(second.client, 'the-build', 'drive');
		await second.client.write('kept', 'from the next client\n', '1');
		expect(await second.client.done('kept')).toEqual({
			exitCode: 7,
			stdout: `begun ${pid}\ngot from the next client\n`,
			stderr: '',
			pty: '',
		});
		expect(await listOne(second.client, 'kept')).toMatchObject({state: 'closed', exitCode: 7, reason: 'exit'});
		await untilNoKeeper(state);
	});

	test('that ends by a signal leaves its durable processes to the next one', unless(why), async () => {
		const state = stateDirectory(place);
		const first = await serve(state);
		await first.client.sh('kept', 'echo $$; exec sleep 1000', DURABLE);
		await first.client.sh('plain', 'echo $$; exec sleep 1000');
		const [pid] = await toldPids(first.client, 'kept', 1);
		const [plain] = await toldPids(first.client, 'plain', 1);
		const watchdog = await findWatchdog(first.command.pid);
		first.command.child.kill('SIGTERM');
		expect(await first.command.ended).toEqual({code: 0, signal: null});
		await untilDead(plain!, watchdog);
		expect(isAlive(pid!)).toBe(true);
		const second = await serve(state);
		await attachTo(second.client, 'kept', 'drive');
		expect(await second.client.call('process/terminate', {processId: 'kept'})).toEqual({running: true});
		expect(await second.client.event('kept', 'process/exited')).toMatchObject({exitCode: 137, reason: 'terminated'});
		await untilDead(pid!);
	});

	test(
		'that is killed together with its watchdog leaves its durable processes to the next one',
		unless(why),
		async () => {
			const state = stateDirectory(place);
			const first = await serve(state);
			await first.client.sh('kept', 'echo $$; exec sleep 1000', DURABLE);
			const [pid] = await toldPids(first.client, 'kept', 1);
			process.kill(await findWatchdog(first.command.pid), 'SIGKILL');
			await crash(first);
			const second = await serve(state);
			expect(await listOne(second.client, 'kept')).toMatchObject({state: 'running', pid});
		},
	);

	test('whose keeper is killed lists its processes as lost, and nothing of them is left', unless(why), async () => {
		const state = stateDirectory(place);
		const {client} = await serve(state);
		await client.sh('kept', 'echo $$; setsid sleep 1000 & echo $!; exec sleep 1000', DURABLE);
		const pids = await toldPids(client, 'kept', 2);
		const waited = client.call('process/wait', {processId: 'kept'});
		process.kill(findKeeper(state).pid, 'SIGKILL');
		await client.event('kept', 'process/closed');
		expect(client.about('kept').map(({method}) => method)).not.toContain('process/exited');
		expect(await waited).toEqual({exitCode: null, running: false, reason: null});
		expect(await listOne(client, 'kept')).toMatchObject({state: 'lost', exitCode: null, durable: true});
		await untilDead(...pids);
		await client.sh('again', 'echo once more', DURABLE);
		expect(await client.done('again')).toMatchObject({exitCode: 0, stdout: 'once more\n'});
	});

	test('cannot be made to spare a process by the marks of a keeper', {
		...unless(why),
		...needs('prlimit', 'setsid'),
	}, async () => {
		// The server looks for such processes once in a while: those that are there for long enough are found.
		const outcome = await withTimeEnough(async limitMs => {
			const state = stateDirectory(place);
			const first = await serve(state);
			await first.client.sh('kept', 'echo $$; exec sleep 1000', DURABLE);
			const [kept] = await toldPids(first.client, 'kept', 1);
			const {rttime, locks} = readMarks(findKeeper(state).pid);
			const forge = `prlimit --pid $$ --rttime=${rttime}:${rttime} --locks=${locks}:${locks}`;
			await first.client.sh('forged', `${forge}; setsid -f sh -c 'echo $$; exec sleep 1000'; echo $$; exec sleep 1000`);
			const forged = await toldPids(first.client, 'forged', 2);
			expect(forged.map(readMarks)).toEqual([
				{rttime, locks},
				{rttime, locks},
			]);
			await setTimeout(limitMs);
			const watchdog = await findWatchdog(first.command.pid);
			await crash(first);
			await untilDead(watchdog);
			return forged.some(isAlive) ? undefined : {isKept: isAlive(kept!)};
		});
		expect(outcome).toEqual({isKept: true});
	});

	test('does not spare a process that took its marks off', {
		...unless(why),
		...needs('prlimit', 'setsid'),
	}, async () => {
		const state = stateDirectory(place);
		const first = await serve(state);
		await first.client.sh('kept', 'echo $$; exec sleep 1000', DURABLE);
		const [kept] = await toldPids(first.client, 'kept', 1);
		const script = `${UNMARK}; setsid -f sh -c 'echo $$; exec sleep 1000'; echo $$; exec sleep 1000`;
		await first.client.sh('unmarked', script);
		const pids = await toldPids(first.client, 'unmarked', 2);
		await crash(first);
		await untilDead(...pids);
		expect(isAlive(kept!)).toBe(true);
	});
});

test('a process that ends while no server is there tells its exit code to the next one', async () => {
	const state = stateDirectory();
	const first = await serveState(state);
	const gate = join(scratchDirectory(), 'gate');
	execFileSync('mkfifo', [gate]);
	await first.client.sh('kept', `echo $$; read -r line < ${gate}; echo late; exit 3`, DURABLE);
	const [pid] = await toldPids(first.client, 'kept', 1);
	await crash(first);
	writeFileSync(gate, 'go\n');
	await untilDead(pid!);
	await untilNoKeeper(state);
	const second = await serveState(state);
	expect(await listOne(second.client, 'kept')).toMatchObject({state: 'closed', exitCode: 3, durable: true});
	await attachTo(second.client, 'kept');
	expect(await second.client.done('kept')).toMatchObject({exitCode: 3, stdout: `${pid}\nlate\n`});
});

test('a terminal keeps its size over a crash, and takes another one', async () => {
	const state = stateDirectory();
	const first = await serveState(state);
	await first.client.sh('kept', 'stty size; while read -r line; do stty size; done', {...DURABLE, ...TERMINAL});
	await first.client.shows('kept', '24 80');
	await first.client.call('process/resize', {processId: 'kept', rows: 30, cols: 100});
	await first.client.write('kept', '\n', '1');
	await first.client.shows('kept', '30 100');
	await crash(first);
	const second = await serveState(state);
	expect(await listOne(second.client, 'kept')).toMatchObject({rows: 30, cols: 100});
	await attachTo(second.client, 'kept', 'drive');
	await second.client.call('process/resize', {processId: 'kept', rows: 40, cols: 120});
	await second.client.write('kept', '\n', '1');
	await second.client.shows('kept', '40 120');
	await second.client.write('kept', '\u0004', '2');
	expect(await second.client.done('kept')).toMatchObject({exitCode: 0});
});

test('output of megabytes is whole after two crashes, in order and with the same numbers', async () => {
	const state = stateDirectory();
	const count = 300_000;
	const script = `seq 1 ${count / 2}; read -r line; seq ${count / 2 + 1} ${count}`;
	const first = await serveState(state);
	await first.client.sh('kept', script, {...DURABLE, ...OPEN_STDIN});
	await first.client.shows('kept', '1000\n');
	await crash(first);
	const second = await serveState(state);
	await attachTo(second.client, 'kept', 'drive');
	await second.client.write('kept', 'go\n', '1');
	await second.client.shows('kept', `\n${count / 2 + 1000}\n`);
	await crash(second);
	const third = await serveState(state);
	await attachTo(third.client, 'kept');
	const {stdout, exitCode} = await third.client.done('kept');
	expect(exitCode).toBe(0);
	expect(stdout === Array.from({length: count}, (__, index) => `${index + 1}\n`).join('')).toBe(true);
	const numbers = third.client.about('kept').map(({params}) => params.seq);
	expect(numbers).toEqual(numbers.map((__, index) => index + 1));
});

test('keepers of two generations are listed together, and each ends with its last process', async () => {
	const state = stateDirectory();
	const first = await serveState(state);
	await first.client.sh('old', 'read -r line; exit 1', {...DURABLE, ...OPEN_STDIN});
	const old = findKeeper(state);
	await crash(first);
	const second = await serveState(state);
	await second.client.sh('new', 'read -r line; exit 2', {...DURABLE, ...OPEN_STDIN});
	expect(listLivingKeepers(state)).toHaveLength(2);
	const listed = await listAll(second.client);
	expect(new Set(listed.map(({generation}) => generation)).size).toBe(2);
	expect(listed.find(({processId}) => processId === 'old')).toMatchObject({generation: old.generation});
	await attachTo(second.client, 'old', 'drive');
	await second.client.write('old', '\n', '1');
	expect(await second.client.done('old')).toMatchObject({exitCode: 1});
	await untilDead(old.pid);
	expect(listLivingKeepers(state)).toHaveLength(1);
	await second.client.write('new', '\n', '1');
	expect(await second.client.done('new')).toMatchObject({exitCode: 2});
	await crash(second);
	// Its files go one after the other.
	await eventually(() => readdirSync(`${state}/keepers`).length === 0);
});

test('a keeper that is asked to end takes its processes along, which is told', async () => {
	const state = stateDirectory();
	const {client} = await serveState(state);
	await client.sh('kept', 'echo $$; exec sleep 1000', DURABLE);
	const [pid] = await toldPids(client, 'kept', 1);
	process.kill(findKeeper(state).pid, 'SIGTERM');
	expect(await client.done('kept')).toMatchObject({exitCode: 143});
	await untilDead(pid!);
	await untilNoKeeper(state);
	expect(await listOne(client, 'kept')).toMatchObject({state: 'closed', exitCode: 143});
});

test(
	'a keeper has nothing of its server: neither streams, directory, terminal, variables nor descriptors',
	needsRoot(),
	async () => {
		const state = stateDirectory();
		const {client, command} = await serveState(state);
		await client.sh('kept', 'exec sleep 1000', DURABLE);
		const {pid} = findKeeper(state);
		expect(readlinkSync(`/proc/${pid}/cwd`)).toBe('/');
		const [, , session, terminal] = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]!.split(' ').slice(1);
		expect([session, terminal]).toEqual([String(pid), '0']);
		await eventually(() => listOpen(pid).includes(`${state}/keepers/${findKeeper(state).generation}.log`));
		const theirs = new Set(listOpen(command.pid).filter(link => /^(?:socket|pipe):/.test(link)));
		expect(listOpen(pid).filter(link => theirs.has(link))).toEqual([]);
		expect(readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(-2)).toEqual(['keeper', '']);
		expect(
			readFileSync(`/proc/${pid}/environ`, 'utf8')
				.split('\0')
				.map(each => each.split('=')[0]),
		).toEqual(expect.not.arrayContaining(['LONGARM_HOME']));
	},
);

test('durable is refused where output may be dropped, where ids are taken, and without a place for it', async () => {
	const state = stateDirectory();
	const {client, url} = await serveState(state);
	const other = await joined(url);
	const start = (of: typeof client, id: string, more: object = {}): Promise<unknown> =>
		refusal(of.sh(id, 'exec sleep 1000', {...DURABLE, ...more}));
	expect(await start(client, 'a', {spill: {onFull: 'dropOldest'}})).toMatchObject({
		message: 'the output of a durable process cannot be dropped: leave onFull out',
	});
	expect(await start(client, 'a', {name: 'x'})).toMatchObject({accepted: {processId: 'a'}});
	expect(await start(other, 'a')).toMatchObject({message: 'process a already exists'});
	expect(await start(other, 'b', {name: 'x'})).toMatchObject({
		message: expect.stringContaining('the name x') as string,
	});
	// Either may come first.
	const both = (await Promise.all([start(client, 'c'), start(other, 'c')])) as {message?: string}[];
	expect(both.map(({message}) => message ?? 'accepted').sort()).toEqual(['accepted', 'process c already exists']);
	const missing = await refusal(client.start('d', ['/no/such/program'], DURABLE));
	expect(missing).toMatchObject({message: expect.stringMatching(/no such file/i) as string});
	expect(existsSync(`${state}/processes/d`)).toBe(false);
});

/** The limits by which a watchdog recognises processes. */
function readMarks(pid: number): {rttime: string; locks: string} {
	const limits = readFileSync(`/proc/${pid}/limits`, 'latin1');
	const read = (name: string): string => new RegExp(`^Max ${name}\\s+(\\S+)`, 'm').exec(limits)![1]!;
	return {rttime: read('realtime timeout'), locks: read('file locks')};
}

/** Files, sockets and pipes that a process has open. */
function listOpen(pid: number): string[] {
	return readdirSync(`/proc/${pid}/fd`).flatMap(fd => {
		try {
			return [readlinkSync(`/proc/${pid}/fd/${fd}`)];
		} catch {
			return [];
		}
	});
}
