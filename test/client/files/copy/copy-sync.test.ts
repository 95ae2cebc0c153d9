import {existsSync, mkdirSync, readdirSync, readlinkSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {describe, expect, onTestFinished, test, vi} from 'vitest';
import {copyFiles} from '../../../../src/client/files/copy/copy-files.js';
import type {FileFeature} from '../../../../src/client/files/files.js';
import {nativePathOf} from '../../../../src/client/paths.js';
import {LocalFiles} from '../../../../src/environments/local/local-files.js';
import {systemError} from '../../../../src/filesystem/file-errors.js';
import {asyncCalls, syncCalls} from '../../../../src/filesystem/syscalls.js';
import {scratchDirectory} from '../../../helpers/scratch.js';
import {LOCAL_AND_REMOTE} from '../../local-and-remote.js';

const LARGE_BYTES = 8 * 1024 * 1024;

function workspace() {
	const directory = scratchDirectory();
	const at = (...names: string[]) => join(directory, ...names);
	mkdirSync(at('tree', 'sub'), {recursive: true});
	mkdirSync(at('target'));
	for (const name of ['a', 'b', 'c', 'd', 'e']) writeFileSync(at('tree', 'sub', name), name);
	writeFileSync(at('tree', 'large'), Buffer.alloc(LARGE_BYTES, 'x'));
	return {at, from: {files: new LocalFiles(), path: at('tree')}};
}

/** Syncs and renames in their order, by path; `refuse` says which syncs fail. */
function watchSyncs(refuse: (path: string) => boolean = () => false): string[] {
	const events: string[] = [];
	const original = {...asyncCalls};
	vi.spyOn(asyncCalls, 'sync').mockImplementation(async fd => {
		const path = readlinkSync(`/proc/self/fd/${fd}`);
		if (refuse(path)) throw systemError('EIO');
		await original.sync(fd);
		events.push(`sync ${path}`);
	});
	for (const calls of [syncCalls, asyncCalls]) {
		const {...own} = calls;
		vi.spyOn(calls, 'rename').mockImplementation(async (from, to) => {
			const directory = readlinkSync(to.slice(0, to.lastIndexOf('/')));
			await own.rename(from, to);
			events.push(`rename ${directory}${to.slice(to.lastIndexOf('/'))}`);
		});
	}
	onTestFinished(() => void vi.restoreAllMocks());
	return events;
}

describe.each(['on this machine', 'over memory'])('what was copied %s', where => {
	const open = async () => (await LOCAL_AND_REMOTE[where]!()).files;

	test('is on the disk: each file before it has its name, and each directory behind its entries', async () => {
		const {at, from} = workspace();
		const files = await open();
		const events = watchSyncs();
		expect(await copyFiles({from, to: {files, path: at('target', 'copy')}})).toMatchObject({files: 6, synced: true});
		const indexOf = (event: string) => {
			expect(events).toContain(event);
			return events.lastIndexOf(event);
		};
		const copied = at('target', 'copy');
		for (const name of ['sub/a', 'sub/b', 'sub/c', 'sub/d', 'sub/e', 'large']) {
			const named = indexOf(`rename ${join(copied, name)}`);
			expect(indexOf(`sync ${join(copied, name)}.longarm-part`)).toBeLessThan(named);
			expect(indexOf(`sync ${name.includes('/') ? join(copied, 'sub') : copied}`)).toBeGreaterThan(named);
		}
		expect(events).toContain(`sync ${at('target')}`);
	});

	test('is on the disk as a file of its own, too', async () => {
		const {at} = workspace();
		const files = await open();
		const events = watchSyncs();
		const from = {files: new LocalFiles(), path: at('tree', 'sub', 'a')};
		await copyFiles({from, to: {files, path: at('target', 'a')}});
		expect(events).toEqual([
			`sync ${at('target', 'a.longarm-part')}`,
			`rename ${at('target', 'a')}`,
			`sync ${at('target')}`,
		]);
	});

	test('is left to the system if that was asked for', async () => {
		const {at, from} = workspace();
		const files = await open();
		const events = watchSyncs();
		const copying = copyFiles({from, to: {files, path: at('target', 'copy')}}, {sync: false});
		expect(await copying).toMatchObject({files: 6, failed: 0, synced: false});
		expect(events.filter(event => event.startsWith('sync'))).toEqual([]);
	});

	test.each([
		['a small file', 'sub/c', '/sub/c.longarm-part'],
		['a large file', 'large', '/large.longarm-part'],
		['a directory', 'sub', '/copy/sub'],
	])('is a failure, with the path of the target, if the disk does not take %s', async (_, name, refused) => {
		const {at, from} = workspace();
		const files = await open();
		watchSyncs(path => path.endsWith(refused));
		const {failures} = await copyFiles({from, to: {files, path: at('target', 'copy')}});
		expect(failures).toHaveLength(1);
		const [{location, error}] = failures as [(typeof failures)[0]];
		expect([location.files, nativePathOf(location.path)]).toEqual([files, at('target', 'copy', name)]);
		expect(error.message).toMatch(/I\/O error|EIO/i);
		expect(existsSync(at('target', 'copy', name))).toBe(name === 'sub');
		expect(readdirSync(at('target', 'copy', 'sub'))).not.toContain('c.longarm-part');
	});
});

test('from a server of stock codex is on the disk as well, with its directories', async () => {
	class StockFiles extends LocalFiles {
		override async supports(): Promise<boolean> {
			return false;
		}
	}
	const {at, from} = workspace();
	const events = watchSyncs();
	const to = {files: new LocalFiles(), path: at('target', 'copy')};
	await copyFiles({from: {...from, files: new StockFiles()}, to});
	for (const path of [at('target'), at('target', 'copy'), at('target', 'copy', 'sub')]) {
		expect(events.lastIndexOf(`sync ${path}`)).toBeGreaterThan(
			events.findLastIndex(event => event.startsWith('rename')),
		);
	}
	expect(events.filter(event => event.startsWith('sync') && event.endsWith('.longarm-part'))).toHaveLength(6);
});

test('a server that cannot sync gets the files, and the result says so', async () => {
	class OlderFiles extends LocalFiles {
		override async supports(feature?: FileFeature): Promise<boolean> {
			return feature !== 'sync';
		}
	}
	const {at, from} = workspace();
	const events = watchSyncs();
	const to = {files: new OlderFiles(), path: at('target', 'copy')};
	expect(await copyFiles({from, to})).toMatchObject({files: 6, synced: false});
	expect(events.filter(event => event.startsWith('sync'))).toEqual([]);
});

test.each(['sub/a', 'large'])('a full disk is a failure with the path of the target: %s', async name => {
	const {at, from} = workspace();
	const to = {files: new LocalFiles(), path: at('target', 'copy')};
	for (const calls of [syncCalls, asyncCalls]) {
		const {...own} = calls;
		vi.spyOn(calls, 'write').mockImplementation((fd, source, position) => {
			if (readlinkSync(`/proc/self/fd/${fd}`).endsWith(`${name}.longarm-part`)) throw systemError('ENOSPC');
			return own.write(fd, source, position);
		});
	}
	onTestFinished(() => void vi.restoreAllMocks());
	const {failures} = await copyFiles({from, to});
	expect(failures.map(({location}) => [location.files, nativePathOf(location.path)])).toEqual([
		[to.files, join(to.path, name)],
	]);
});
