import {chmodSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, onTestFinished, test} from 'vitest';
import {type BytePath, bytePath, toDisplayText} from '../../../src/filesystem/byte-path.js';
import type {ChangeBatch} from '../../../src/filesystem/watch/change-log.js';
import {TreeWatch, type TreeWatchOptions} from '../../../src/filesystem/watch/tree-watch.js';
import {eventually} from '../../helpers/processes.js';
import {scratchDirectory} from '../../helpers/scratch.js';

class Observer {
	readonly told = new Map<string, string>();
	overflows = 0;
	ended: string | undefined;
	wakes = 0;
	watch!: TreeWatch;
	readonly #root: string;

	constructor(root: string) {
		this.#root = root;
	}

	static async of(root: string, options: Partial<TreeWatchOptions> = {}): Promise<Observer> {
		const observer = new Observer(root);
		const all = {recursive: true, ignore: [], ...options};
		observer.watch = await TreeWatch.begin(bytePath(root), all, () => observer.wakes++);
		onTestFinished(() => observer.watch.end());
		return observer;
	}

	/** Takes what there is until the condition holds. */
	until(condition: (observer: this) => boolean): Promise<boolean> {
		return eventually(() => {
			for (let news = this.watch.take(1000); news; news = this.watch.take(1000)) this.#note(news);
			return condition(this);
		});
	}

	/** Waits until each of these has been told, as it was told last. */
	async hears(expected: Record<string, string>): Promise<void> {
		await this.until(({told}) => Object.entries(expected).every(([path, kind]) => told.get(path) === kind));
	}

	#note({changes, overflow, ended}: ChangeBatch): void {
		for (const {path, kind} of changes) this.told.set(toDisplayText(path).slice(this.#root.length + 1), kind);
		if (overflow) this.overflows++;
		this.ended = ended;
	}
}

test('what is created, changed and removed anywhere below is told', async () => {
	const root = scratchDirectory();
	mkdirSync(join(root, 'a/b'), {recursive: true});
	writeFileSync(join(root, 'a/b/old'), 'x');
	writeFileSync(join(root, 'gone'), 'x');
	const observer = await Observer.of(root);
	writeFileSync(join(root, 'a/b/new'), 'x');
	writeFileSync(join(root, 'a/b/old'), 'y');
	rmSync(join(root, 'gone'));
	await observer.hears({'a/b/new': 'created', 'a/b/old': 'modified', gone: 'removed'});
	expect(observer.overflows).toBe(0);
});

test('a directory that comes with its content is told with all of it, and watched from then on', async () => {
	const root = scratchDirectory();
	const elsewhere = scratchDirectory();
	mkdirSync(join(elsewhere, 'tree/deep/er'), {recursive: true});
	writeFileSync(join(elsewhere, 'tree/deep/er/file'), '');
	const observer = await Observer.of(root);
	renameSync(join(elsewhere, 'tree'), join(root, 'tree'));
	await observer.hears({tree: 'created', 'tree/deep': 'created', 'tree/deep/er/file': 'created'});
	writeFileSync(join(root, 'tree/deep/er/file'), 'later');
	await observer.hears({'tree/deep/er/file': 'modified'});
	expect(observer.overflows).toBe(0);
});

test('a directory that moves is gone here, created there, and watched under its new name only', async () => {
	const root = scratchDirectory();
	mkdirSync(join(root, 'before/in'), {recursive: true});
	const observer = await Observer.of(root);
	renameSync(join(root, 'before'), join(root, 'after'));
	await observer.hears({before: 'removed', after: 'created', 'after/in': 'created'});
	observer.told.clear();
	writeFileSync(join(root, 'after/in/file'), '');
	await observer.hears({'after/in/file': 'created'});
	expect([...observer.told.keys()].filter(path => path.startsWith('before'))).toEqual([]);
});

test('without recursive only the direct entries are told', async () => {
	const root = scratchDirectory();
	mkdirSync(join(root, 'sub'));
	const observer = await Observer.of(root, {recursive: false});
	writeFileSync(join(root, 'sub/hidden'), '');
	writeFileSync(join(root, 'seen'), '');
	await observer.hears({seen: 'created'});
	expect([...observer.told.keys()]).not.toContain('sub/hidden');
});

test('what is ignored is neither watched nor told, in the language of .gitignore', async () => {
	const root = scratchDirectory();
	mkdirSync(join(root, 'node_modules/x'), {recursive: true});
	mkdirSync(join(root, 'src'));
	const observer = await Observer.of(root, {ignore: ['node_modules/', '*.log', '!keep.log']});
	writeFileSync(join(root, 'node_modules/x/file'), '');
	for (const name of ['src/a.log', 'src/keep.log', 'src/b.ts']) writeFileSync(join(root, name), '');
	await observer.hears({'src/keep.log': 'created', 'src/b.ts': 'created'});
	expect([...observer.told.keys()].sort()).toEqual(['src/b.ts', 'src/keep.log']);
});

test('a rule that begins with a slash is about the root alone', async () => {
	const root = scratchDirectory();
	for (const name of ['out', 'sub/out']) mkdirSync(join(root, name), {recursive: true});
	const observer = await Observer.of(root, {ignore: ['/out', 'sub/*.tmp']});
	for (const name of ['out/a', 'sub/b.tmp', 'sub/out/c', 'last']) writeFileSync(join(root, name), '');
	await observer.hears({'sub/out/c': 'created', last: 'created'});
	expect([...observer.told.keys()].filter(name => name === 'out/a' || name === 'sub/b.tmp')).toEqual([]);
});

test('a single file is watched by its name, also when another takes its place', async () => {
	const root = scratchDirectory();
	const file = join(root, 'file');
	writeFileSync(file, 'one');
	const observer = new Observer(root);
	observer.watch = await TreeWatch.begin(bytePath(file), {recursive: true, ignore: []}, () => {});
	onTestFinished(() => observer.watch.end());
	writeFileSync(join(root, 'other'), 'two');
	writeFileSync(file, 'three');
	await observer.hears({file: 'modified'});
	renameSync(join(root, 'other'), file);
	await observer.hears({file: 'created'});
	rmSync(file);
	await observer.hears({file: 'removed'});
	expect([...observer.told.keys()]).toEqual(['file']);
});

test('a watch ends with its directory and says why', async () => {
	const root = join(scratchDirectory(), 'root');
	mkdirSync(root);
	const observer = await Observer.of(root);
	rmSync(root, {recursive: true});
	await observer.until(({ended}) => ended !== undefined);
	expect(observer.ended).toBe('the watched directory is gone');
});

test('an entry that has the name of its directory is told like any other', async () => {
	const root = join(scratchDirectory(), 'same');
	mkdirSync(root);
	const observer = await Observer.of(root);
	writeFileSync(join(root, 'same'), '');
	await observer.hears({same: 'created'});
	rmSync(join(root, 'same'));
	await observer.hears({same: 'removed'});
	expect(observer.ended).toBeUndefined();
});

test('names that are not UTF-8 are told byte for byte', async () => {
	const root = scratchDirectory();
	let told: BytePath | undefined;
	const watch = await TreeWatch.begin(bytePath(root), {recursive: true, ignore: []}, () => {
		told = watch.take(10)?.changes[0]?.path;
	});
	onTestFinished(() => watch.end());
	writeFileSync(Buffer.from(`${root}/\xff\xfe`, 'latin1'), '');
	expect(await eventually(() => told)).toBe(`${root}/\xff\xfe`);
});

test('links are told of, never followed', async () => {
	const root = scratchDirectory();
	const elsewhere = scratchDirectory();
	symlinkSync(elsewhere, join(root, 'link'));
	const observer = await Observer.of(root);
	writeFileSync(join(elsewhere, 'unseen'), '');
	symlinkSync('nowhere', join(root, 'dangling'));
	await observer.hears({dangling: 'created'});
	expect([...observer.told.keys()]).toEqual(['dangling']);
});

test('more events than the system keeps are an overflow, and what comes later is told again', async () => {
	const root = scratchDirectory();
	mkdirSync(join(root, 'sub'));
	const observer = await Observer.of(root);
	const most = Number(readFileSync('/proc/sys/fs/inotify/max_queued_events', 'latin1'));
	// All in one turn of the event loop, so that nobody empties the queue meanwhile; the directory comes when it is full.
	for (let count = 0; count <= most; count++) chmodSync(join(root, 'sub'), count % 2 ? 0o700 : 0o755);
	for (let count = 0; count <= most; count++) writeFileSync(join(root, 'sub', `f${count % 3}`), '');
	mkdirSync(join(root, 'late'));
	await observer.until(({overflows}) => overflows > 0);
	observer.told.clear();
	const told = eventually(() => {
		writeFileSync(join(root, 'late/file'), String(Math.random()));
		for (let news = observer.watch.take(1000); news; news = observer.watch.take(1000)) {
			if (news.changes.some(({path}) => path.endsWith('/late/file'))) return true;
		}
		return false;
	});
	expect(await told).toBe(true);
});

test('a missing path cannot be watched', async () => {
	const watch = TreeWatch.begin(bytePath(join(scratchDirectory(), 'none')), {recursive: true, ignore: []}, () => {});
	await expect(watch).rejects.toMatchObject({code: 'ENOENT'});
});
