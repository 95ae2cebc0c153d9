// covers: src/processes/spill/process-store.ts, src/processes/spill/state-lock.ts, src/processes/spill/process-meta.ts
import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {
	chmodSync,
	chownSync,
	existsSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	statSync,
	symlinkSync,
	writeFileSync,
} from 'node:fs';
import {basename, dirname, join} from 'node:path';
import * as fc from 'fast-check';
import {expect, onTestFinished, test} from 'vitest';
import {ProcessStore} from '../../../src/processes/spill/process-store.js';
import {adoptLock, lockState} from '../../../src/processes/spill/state-lock.js';
import type {LongarmError} from '../../../src/shared/errors.js';
import {isRoot, needs, needsRoot, runAsNobody} from '../../helpers/needs.js';
import {eventually} from '../../helpers/processes.js';
import {scratchDirectory} from '../../helpers/scratch.js';
import {bytesOf, metaOf, readAll, STARTED_AT_MS} from '../../helpers/spills.js';

function openStore(directory = join(scratchDirectory(), 'state')): ProcessStore {
	const store = ProcessStore.open(directory);
	onTestFinished(() => store.close());
	return store;
}

/** The error of an attempt to open a state directory. */
function refusal(directory: string): LongarmError {
	try {
		ProcessStore.open(directory).close();
	} catch (error) {
		return error as LongarmError;
	}
	throw new Error('it was opened');
}

/** A process that has written so much and ended at a time. */
function addEnded(store: ProcessStore, id: string, {bytes = 100, endedAtMs = 0} = {}): string {
	const spill = store.create(metaOf(id), {clock: () => STARTED_AT_MS + endedAtMs});
	spill.append({seq: 1, stream: 'stdout', bytes: bytesOf(1, bytes)});
	spill.recordExit({seq: 2, exitCode: 0, reason: 'exit'});
	spill.recordClose(3);
	return spill.directory;
}

test('a new state directory belongs to its owner alone and names its version', () => {
	const store = openStore(join(scratchDirectory(), 'a', 'b', 'state'));
	expect(readdirSync(store.directory).sort()).toEqual(['lock', 'processes', 'version']);
	expect(readFileSync(join(store.directory, 'version'), 'utf8')).toBe('1\n');
	expect(readFileSync(join(store.directory, 'lock'), 'utf8')).toBe(`${process.pid}\n`);
	for (const name of ['', 'processes']) expect(statSync(join(store.directory, name)).mode & 0o777).toBe(0o700);
	for (const name of ['lock', 'version']) expect(statSync(join(store.directory, name)).mode & 0o777).toBe(0o600);
});

test('what was kept is found by the next server, with output, exit and time', () => {
	const first = ProcessStore.open(join(scratchDirectory(), 'state'));
	const meta = metaOf('build', {name: 'nightly', labels: {constructor: 'yes'}, tty: true, rows: 24, cols: 80, pid: 42});
	const spill = first.create(meta, {clock: () => STARTED_AT_MS + 5});
	spill.append({seq: 1, stream: 'pty', bytes: Buffer.from('hello')});
	spill.recordExit({seq: 2, exitCode: 3, reason: 'exit', sandboxDenied: false});
	spill.recordClose(3);
	first.updateMeta(spill.directory, {...meta, rows: 50});
	const running = first.create(metaOf('lost'));
	running.append({seq: 1, stream: 'stdout', bytes: Buffer.from('half')});
	running.close();
	first.close();
	const store = openStore(first.directory);
	const found = store.list().sort((a, b) => a.id.localeCompare(b.id));
	expect(found[0]).toEqual({
		id: 'build',
		meta: {...meta, rows: 50},
		exit: {exitCode: 3, reason: 'exit', sandboxDenied: false, seq: 2, ms: STARTED_AT_MS + 5},
		directory: join(store.directory, 'processes', 'build'),
		bytes: 5 + 3 * 32,
		endedAtMs: STARTED_AT_MS + 5,
		tornBytes: 0,
	});
	expect([found[1]?.id, found[1]?.exit]).toEqual(['lost', undefined]);
	expect(readAll(store.openEnded(found[0]!.directory).openReader(0))).toEqual([{seq: 1, stream: 'pty', text: 'hello'}]);
});

test('a second store in the same process is refused, and let in after the first is closed', () => {
	const store = ProcessStore.open(join(scratchDirectory(), 'state'));
	const error = refusal(store.directory);
	expect([error.code, error.message]).toEqual([
		'STATE_UNUSABLE',
		`state ${store.directory} is used by the server with process id ${process.pid}`,
	]);
	store.close();
	openStore(store.directory);
});

test('another process that holds the lock is named, and its death frees it', needs('flock'), async () => {
	const store = ProcessStore.open(join(scratchDirectory(), 'state'));
	store.close();
	const script = 'exec 9<>lock && flock -n 9 && echo $$ >lock && echo ready && read -r line';
	const holder = spawn('sh', ['-c', script], {cwd: store.directory, stdio: ['pipe', 'pipe', 'inherit']});
	onTestFinished(() => void holder.kill('SIGKILL'));
	await once(holder.stdout, 'data');
	const error = refusal(store.directory);
	expect(error.message).toContain(`is used by the server with process id ${holder.pid}`);
	expect(error.context).toMatchObject({pid: holder.pid});
	const ended = once(holder, 'exit');
	holder.kill('SIGKILL');
	await ended;
	const again = openStore(store.directory);
	const other = spawn('flock', ['-n', join(again.directory, 'lock'), 'true']);
	expect((await once(other, 'exit'))[0]).toBe(1);
});

test('the lock goes on with its descriptor, and not with another one', () => {
	const store = ProcessStore.open(join(scratchDirectory(), 'state'));
	const adopted = ProcessStore.adopt(store.directory, store.lockDescriptor);
	onTestFinished(() => adopted.close());
	expect(adopted.lockDescriptor).toBe(store.lockDescriptor);
	expect(refusal(store.directory).message).toContain(String(process.pid));
	const other = openStore();
	expect(() => ProcessStore.adopt(store.directory, other.lockDescriptor)).toThrow('is used by');
});

test('without locks of the kernel a file with the process id of a living holder does the same', async () => {
	const directory = scratchDirectory();
	const path = join(directory, 'lock');
	const lock = (): ReturnType<typeof lockState> => lockWithoutKernel(directory);
	const held = lock();
	expect(readFileSync(path, 'utf8')).toBe(`${process.pid}\n`);
	held.release();
	expect(readdirSync(directory)).toEqual([]);
	const holder = spawn('cat', {stdio: ['pipe', 'ignore', 'ignore']});
	onTestFinished(() => void holder.kill('SIGKILL'));
	writeFileSync(path, `${holder.pid}\n`);
	expect(lock).toThrow(`is used by the server with process id ${holder.pid}`);
	expect(readdirSync(directory)).toEqual(['lock']);
	const ended = once(holder, 'exit');
	holder.kill('SIGKILL');
	await ended;
	const taken = lock();
	expect([readFileSync(path, 'utf8'), readdirSync(directory)]).toEqual([`${process.pid}\n`, ['lock']]);
	adoptLock(directory, taken.descriptor, null).release();
	expect(existsSync(path)).toBe(false);
});

function lockWithoutKernel(directory: string): ReturnType<typeof lockState> {
	return lockState(directory, null);
}

test.each(['2', '', '1.0', 'x'.repeat(100)])('a directory of version %j is refused and not touched', version => {
	const directory = scratchDirectory();
	mkdirSync(join(directory, 'processes'));
	writeFileSync(join(directory, 'version'), version);
	expect(refusal(directory)).toMatchObject({code: 'STATE_UNUSABLE'});
	expect(readdirSync(directory).sort()).toEqual(['processes', 'version']);
});

test('a directory of something else is refused and not touched', () => {
	const directory = scratchDirectory();
	writeFileSync(join(directory, 'thesis.txt'), 'precious');
	expect(refusal(directory).message).toContain('it has no file named version, but other ones');
	expect(readdirSync(directory)).toEqual(['thesis.txt']);
});

test('a directory that others can write to, a link and a file are refused', () => {
	const open = scratchDirectory();
	chmodSync(open, 0o770);
	expect(refusal(open).message).toContain('it is writable by others; try chmod go-w');
	const link = join(scratchDirectory(), 'link');
	symlinkSync(scratchDirectory(), link);
	expect(refusal(link).message).toContain('it is not a directory, or a link to one');
	const file = join(scratchDirectory(), 'file');
	writeFileSync(file, '');
	expect(refusal(file)).toMatchObject({code: 'STATE_UNUSABLE'});
	const shared = scratchDirectory();
	chmodSync(shared, 0o777);
	expect(refusal(join(shared, 'state')).message).toContain('its directory is writable by others');
});

test('a directory of another user is refused', needsRoot(), () => {
	const directory = scratchDirectory();
	chownSync(directory, 65_534, 65_534);
	expect(refusal(directory).message).toContain('it belongs to another user');
});

test('a directory that cannot be written to is refused in the words of the system', async () => {
	const parent = scratchDirectory();
	chmodSync(parent, 0o755);
	if (!isRoot) chmodSync(parent, 0o555);
	const attempt = async (): Promise<LongarmError> => refusal(join(parent, 'state'));
	const error = isRoot ? await runAsNobody(attempt) : await attempt();
	expect([error.code, error.message]).toEqual([
		'STATE_UNUSABLE',
		`state ${join(parent, 'state')} cannot be used: Permission denied (os error 13)`,
	]);
});

test('an id is the name of its directory, or a hash of it if it could be anything else', () => {
	const store = openStore();
	const parent = join(store.directory, 'processes');
	expect(store.directoryFor('build-1.2_x')).toBe(join(parent, 'build-1.2_x'));
	const hostile = [
		'',
		'.',
		'..',
		'../x',
		'/etc/passwd',
		'a/b',
		'a\0b',
		'-rf',
		'_x',
		'.hidden',
		'ü',
		'a'.repeat(65),
		'a\n',
	];
	for (const id of hostile) expect(basename(store.directoryFor(id))).toMatch(/^_[0-9a-f]{64}$/);
	fc.assert(
		fc.property(fc.string(), fc.string(), (id, other) => {
			expect(dirname(store.directoryFor(id))).toBe(parent);
			expect(store.directoryFor(id) === store.directoryFor(other)).toBe(id === other);
		}),
	);
});

test('processes with hostile ids are kept, listed and removed like any other', async () => {
	const store = openStore();
	const ids = ['../../escape', '/etc/passwd', 'a\0b', '', '..'];
	for (const id of ids) addEnded(store, id);
	expect(new Set(store.list().map(({id}) => id))).toEqual(new Set(ids));
	for (const id of ids) await store.remove(id);
	expect(readdirSync(join(store.directory, 'processes'))).toEqual([]);
	await store.remove('../../escape');
});

test('processes of the same id do not disturb each other', async () => {
	const store = openStore();
	const [first, second] = [addEnded(store, 'same', {bytes: 10}), addEnded(store, 'same', {bytes: 20})];
	expect(store.list().map(({id, exit}) => [id, exit?.exitCode])).toEqual([
		['same', 0],
		['same', 0],
	]);
	await store.removeDirectory(first);
	expect(store.list().map(({directory}) => directory)).toEqual([second]);
});

test('only processes of the store are opened and removed, and links are not followed', async () => {
	const store = openStore();
	const outside = scratchDirectory();
	writeFileSync(join(outside, 'file'), 'precious');
	symlinkSync(outside, store.directoryFor('link'));
	expect(store.list()).toEqual([]);
	await expect(store.remove('link')).rejects.toMatchObject({code: 'STATE_UNUSABLE'});
	for (const path of [outside, join(store.directory, 'processes'), join(store.directory, 'processes', '..')]) {
		await expect(store.removeDirectory(path)).rejects.toMatchObject({code: 'STATE_UNUSABLE'});
		expect(() => store.openEnded(path)).toThrow(expect.objectContaining({code: 'STATE_UNUSABLE'}));
	}
	expect(readdirSync(outside)).toEqual(['file']);
	expect(() => store.openEnded(store.directoryFor('missing'))).toThrow('No such file or directory');
});

test('damaged processes are reported with the reason and do not hide the others', () => {
	const store = openStore();
	addEnded(store, 'good');
	const damages: Record<string, [file: string, content: string | undefined, reason: string]> = {
		text: ['meta.json', '{"version":1', 'meta.json is damaged: it is not JSON'],
		member: ['meta.json', JSON.stringify({...metaOf('member'), tty: 'no'}), 'meta.json is damaged: tty: '],
		version: ['meta.json', JSON.stringify({...metaOf('version'), version: 2}), 'meta.json is damaged: version: '],
		array: ['meta.json', '[]', 'meta.json is damaged: '],
		other: ['meta.json', JSON.stringify(metaOf('good')), 'the id is not that of the directory'],
		exit: ['exit.json', '{"exitCode":"0"}', 'exit.json is damaged: exitCode: '],
		index: ['idx', 'x'.repeat(64), 'the index of its output is damaged'],
	};
	for (const [id, [file, content]] of Object.entries(damages)) writeFileSync(join(addEnded(store, id), file), content!);
	mkdirSync(store.directoryFor('empty'));
	const reported = new Map<string, LongarmError>();
	const found = store.list({onDamaged: (directory, error) => reported.set(basename(directory), error)});
	expect(found.map(({id}) => id)).toEqual(['good']);
	expect([...reported.keys()].sort()).toEqual([...Object.keys(damages), 'empty'].sort());
	for (const [id, [, , reason]] of Object.entries(damages)) expect(reported.get(id)?.message).toContain(reason);
	expect(reported.get('empty')?.message).toContain('No such file or directory (os error 2)');
});

test('a torn end is cut off, unless the process is written to', () => {
	const store = openStore();
	const torn = addEnded(store, 'torn');
	const busy = addEnded(store, 'busy');
	for (const directory of [torn, busy]) writeFileSync(join(directory, 'out'), 'x'.repeat(130));
	const found = store.list({isInUse: directory => directory === busy});
	expect(new Map(found.map(({id, tornBytes}) => [id, tornBytes]))).toEqual(
		new Map([
			['torn', 30],
			['busy', 0],
		]),
	);
	expect([torn, busy].map(directory => statSync(join(directory, 'out')).size)).toEqual([100, 130]);
});

test('ended processes are removed by age, number and size, the oldest first, and those in use are kept', async () => {
	const store = openStore();
	const [oldest, old, young] = [3, 1, 2].map(age => addEnded(store, `p${age}`, {endedAtMs: 1000 - age * 100}));
	const used = addEnded(store, 'used', {bytes: 5000});
	const damaged = addEnded(store, 'damaged');
	writeFileSync(join(damaged, 'meta.json'), '');
	const isInUse = (directory: string): boolean => directory === used;
	const nowMs = STARTED_AT_MS + 1000;
	expect(await store.retain({isInUse, nowMs, maxAgeMs: 300, maxCount: 4, maxTotalBytes: 10_000})).toEqual([]);
	expect(await store.retain({isInUse, nowMs, maxAgeMs: 250})).toEqual([oldest]);
	expect(await store.retain({isInUse, nowMs, maxTotalBytes: 250})).toEqual([young]);
	expect(await store.retain({isInUse, nowMs, maxCount: 0})).toEqual([old, damaged]);
	expect(store.list().map(({id}) => id)).toEqual(['used']);
});

test('a removal that was cut short is finished at the next start', async () => {
	const store = ProcessStore.open(join(scratchDirectory(), 'state'));
	const parent = join(store.directory, 'processes');
	mkdirSync(join(parent, '_removed-0123'));
	writeFileSync(join(parent, '_removed-0123', 'out'), 'x');
	expect(store.list()).toEqual([]);
	store.close();
	const again = openStore(store.directory);
	await eventually(() => readdirSync(parent).length === 0);
	expect(again.list()).toEqual([]);
});
