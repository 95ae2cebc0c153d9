// fs/walk: a bounded breadth-first listing of a directory tree.
import {execFileSync} from 'node:child_process';
import {mkdirSync, realpathSync, symlinkSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {equal, isError} from '../lib/check.mjs';
import {uri} from '../lib/proc.mjs';
import {group} from '../lib/suite.mjs';

const limits = {maxDepth: 10, maxDirectories: 100, maxEntries: 100, followDirectorySymlinks: false};

/** Walks a tree with b.txt, a/, a/x.txt, a/deep/, a/deep/y.txt; returns relative paths, directories with a slash. */
async function walker(t) {
	const root = realpathSync(t.dir());
	mkdirSync(join(root, 'a', 'deep'), {recursive: true});
	for (const file of ['b.txt', 'a/x.txt', 'a/deep/y.txt']) writeFileSync(join(root, file), '');
	const peer = await t.open();
	const walk = async (options, from = root) => {
		const outcome = await peer.call('fs/walk', {path: uri(from), options: {...limits, ...options}});
		const names = outcome.entries.map(
			e => decodeURIComponent(e.path.slice(uri(from).length + 1)) + (e.kind === 'directory' ? '/' : ''),
		);
		return {...outcome, names};
	};
	return {peer, root, walk};
}

export const tests = group('fs-walk', ({current}) => {
	current('walk lists a tree level by level, sorted by name', async t => {
		const {names, errors, truncated} = await (await walker(t)).walk();
		equal(names, ['a/', 'b.txt', 'a/deep/', 'a/x.txt', 'a/deep/y.txt'], 'names');
		equal([errors, truncated], [[], false], '[errors, truncated]');
	});

	current('maxDepth bounds how deep directories are entered', async t => {
		const {walk} = await walker(t);
		equal((await walk({maxDepth: 0})).names, ['a/', 'b.txt'], 'depth 0');
		const {names, truncated} = await walk({maxDepth: 1});
		equal([names, truncated], [['a/', 'b.txt', 'a/deep/', 'a/x.txt'], false], 'depth 1');
	});

	current('maxEntries cuts the listing and says so', async t => {
		const {names, truncated} = await (await walker(t)).walk({maxEntries: 3});
		equal([names, truncated], [['a/', 'b.txt', 'a/deep/'], true], '[names, truncated]');
	});

	current('maxDirectories counts the root and says when it cuts', async t => {
		const {names, truncated} = await (await walker(t)).walk({maxDirectories: 1});
		equal([names, truncated], [['a/', 'b.txt'], true], '[names, truncated]');
	});

	current('links are left out, or directory links followed on request', async t => {
		const {root, walk} = await walker(t);
		symlinkSync('a', join(root, 'c'));
		symlinkSync('b.txt', join(root, 'd.txt'));
		equal(
			(await walk()).names.filter(n => /^[cd]/.test(n)),
			[],
			'links by default',
		);
		const followed = (await walk({followDirectorySymlinks: true, maxDepth: 0})).names;
		equal(followed, ['a/', 'b.txt', 'c/'], 'names when following');
	});

	current('a loop of directory links ends', async t => {
		const {root, walk} = await walker(t);
		symlinkSync('..', join(root, 'a', 'up'));
		const {names} = await walk({followDirectorySymlinks: true});
		equal(names, ['a/', 'b.txt', 'a/deep/', 'a/up/', 'a/x.txt', 'a/deep/y.txt'], 'names');
	});

	current('pruneHiddenDirectories lists but does not enter hidden directories', async t => {
		const {root, walk} = await walker(t);
		mkdirSync(join(root, '.git'));
		writeFileSync(join(root, '.git', 'config'), '');
		writeFileSync(join(root, '.hidden'), '');
		const {names} = await walk({pruneHiddenDirectories: true});
		equal(
			names.filter(n => n.startsWith('.')),
			['.git/', '.hidden'],
			'hidden names',
		);
	});

	current('limits of zero or beyond the maximum are refused', async t => {
		const {peer, root} = await walker(t);
		const refusal = options => peer.fail('fs/walk', {path: uri(root), options: {...limits, ...options}});
		for (const bad of [{maxEntries: 0}, {maxDirectories: 0}])
			isError(await refusal(bad), -32600, 'filesystem walk limits must be greater than zero');
		for (const bad of [{maxDepth: 65}, {maxDirectories: 10_001}, {maxEntries: 50_001}]) {
			isError(
				await refusal(bad),
				-32600,
				'filesystem walk limits exceed maximums: depth=64, directories=10000, entries=50000',
			);
		}
	});

	current('a missing root is not-found, a file has no entries', async t => {
		const {peer, root, walk} = await walker(t);
		isError(await peer.fail('fs/walk', {path: uri(join(root, 'missing')), options: limits}), -32004);
		equal((await walk({}, join(root, 'b.txt'))).entries, [], 'entries of a file');
	});

	current('missing options are invalid params', async t => {
		const {peer, root} = await walker(t);
		isError(await peer.fail('fs/walk', {path: uri(root)}), -32602);
		isError(await peer.fail('fs/walk', {path: uri(root), options: {maxDepth: 1}}), -32602);
	});

	current('FIFOs and dangling links are left out', async t => {
		const {root, walk} = await walker(t);
		execFileSync('mkfifo', [join(root, 'fifo')]);
		symlinkSync('nowhere', join(root, 'dangling'));
		const {names, errors} = await walk({followDirectorySymlinks: true, maxDepth: 0});
		equal([names, errors], [['a/', 'b.txt'], []], '[names, errors]');
	});
});
