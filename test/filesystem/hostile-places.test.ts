// covers: src/filesystem (full disks, missing permissions, special files)
import {execFileSync} from 'node:child_process';
import fs from 'node:fs';
import {join} from 'node:path';
import {expect, onTestFinished, test} from 'vitest';
import {bytePath} from '../../src/filesystem/byte-path.js';
import {FileHandles, openReplaceable} from '../../src/filesystem/file-handles.js';
import * as files from '../../src/filesystem/index.js';
import {isRoot, needsRoot, runAsNobody, unless} from '../helpers/needs.js';
import {scratchDirectory} from '../helpers/scratch.js';

const MiB = 1024 * 1024;
const FOLLOW = {followSymlinks: true};

/** A file system of one MiB. */
function smallDisk(): string {
	const place = scratchDirectory();
	execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', place], {stdio: 'ignore'});
	onTestFinished(() => void execFileSync('umount', ['-l', place]));
	return place;
}

function noMount(): string | undefined {
	if (!isRoot) return 'only root can mount';
	try {
		execFileSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt'], {stdio: 'ignore'});
		return undefined;
	} catch {
		return 'mounting is not permitted here';
	}
}

test('on a full disk an atomic write leaves the file as it was and nothing beside it', unless(noMount()), async () => {
	const disk = smallDisk();
	fs.writeFileSync(join(disk, 'file'), 'precious');
	for (const followSymlinks of [true, false]) {
		const write = files.writeFile(bytePath(join(disk, 'file')), Buffer.alloc(2 * MiB), {followSymlinks, atomic: true});
		await expect(write).rejects.toMatchObject({code: 'FILE_FAILED', message: 'No space left on device (os error 28)'});
		const fresh = files.writeFile(bytePath(join(disk, 'new')), Buffer.alloc(2 * MiB), {followSymlinks, atomic: true});
		await expect(fresh).rejects.toMatchObject({code: 'FILE_FAILED'});
	}
	expect(fs.readdirSync(disk)).toEqual(['file']);
	expect(fs.readFileSync(join(disk, 'file'), 'utf8')).toBe('precious');
	await files.writeFile(bytePath(join(disk, 'file')), Buffer.alloc(MiB / 4), {...FOLLOW, atomic: true});
	expect(fs.statSync(join(disk, 'file')).size).toBe(MiB / 4);
});

test('on a full disk writes, blocks and copies say so', unless(noMount()), async () => {
	const disk = smallDisk();
	const full = {code: 'FILE_FAILED', message: 'No space left on device (os error 28)'};
	await expect(files.writeFile(bytePath(join(disk, 'file')), Buffer.alloc(2 * MiB), FOLLOW)).rejects.toMatchObject(
		full,
	);
	const large = join(scratchDirectory(), 'large');
	fs.writeFileSync(large, Buffer.alloc(2 * MiB));
	await expect(files.copy(bytePath(large), bytePath(join(disk, 'copy')), {recursive: false})).rejects.toMatchObject(
		full,
	);
	const handles = new FileHandles();
	onTestFinished(() => handles.closeAll());
	await handles.open('h', () => openReplaceable(bytePath(join(disk, 'blocks')), {followSymlinks: true}));
	await expect(handles.write('h', Buffer.alloc(MiB), MiB / 2)).rejects.toMatchObject({code: 'ENOSPC'});
});

test('what somebody may not read or write is refused, and a walk goes around it', needsRoot(), async () => {
	const root = scratchDirectory();
	fs.chmodSync(root, 0o777);
	for (const [name, mode] of [
		['closed', 0o700],
		['readable', 0o755],
	] as const) {
		fs.mkdirSync(join(root, name));
		fs.writeFileSync(join(root, name, 'file'), 'root only', {mode: 0o600});
		fs.chmodSync(join(root, name), mode);
	}
	const at = (name: string) => bytePath(join(root, name));
	const denied = {code: 'FILE_REFUSED', message: 'Permission denied (os error 13)'};
	await runAsNobody(async () => {
		for (const path of ['closed/file', 'readable/file']) {
			for (const followSymlinks of [true, false]) {
				await expect(files.readFile(at(path), {followSymlinks})).rejects.toMatchObject(denied);
				for (const atomic of [true, false]) {
					const write = files.writeFile(at(path), Buffer.from('x'), {followSymlinks, atomic});
					await expect(write).rejects.toMatchObject(denied);
				}
			}
		}
		await expect(files.readDirectory(at('closed'))).rejects.toMatchObject(denied);
		await expect(files.remove(at('closed'), {recursive: true, force: true, ...FOLLOW})).rejects.toMatchObject(denied);
		await expect(files.createDirectory(at('readable/new'), {recursive: true, ...FOLLOW})).rejects.toMatchObject(denied);
		const limits = {
			maxDepth: 9,
			maxDirectories: 99,
			maxEntries: 99,
			followDirectorySymlinks: false,
			pruneHiddenDirectories: false,
		};
		const {entries, errors} = await files.walk(at(''), limits);
		expect(entries.map(({path}) => path.slice(`file://${root}/`.length))).toEqual([
			'closed',
			'readable',
			'readable/file',
		]);
		expect(errors).toEqual([{path: `file://${root}/closed`, message: denied.message}]);
	});
	expect(fs.readFileSync(join(root, 'readable/file'), 'utf8')).toBe('root only');
	expect(fs.readdirSync(join(root, 'readable'))).toEqual(['file']);
});

test('directories above that may only be passed through are enough to go without links', needsRoot(), async () => {
	const root = scratchDirectory();
	fs.mkdirSync(join(root, 'search-only/open'), {recursive: true});
	fs.writeFileSync(join(root, 'search-only/open/file'), 'content');
	for (const [path, mode] of [
		[root, 0o711],
		[join(root, 'search-only'), 0o711],
		[join(root, 'search-only/open'), 0o755],
		[join(root, 'search-only/open/file'), 0o644],
	] as const) {
		fs.chmodSync(path, mode);
	}
	await runAsNobody(async () => {
		const content = await files.readFile(bytePath(join(root, 'search-only/open/file')), {followSymlinks: false});
		expect(Buffer.from(content).toString()).toBe('content');
	});
});
