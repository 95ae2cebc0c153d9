import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {readFileSync, statSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {CACHE, ProgramCopy} from './program-copy.js';

test('a cache is replaced by one that has more, and by no other', async () => {
	const copy = new ProgramCopy();
	copy.removeCaches();
	writeFileSync(
		join(copy.parts, 'main.js'),
		`(function (require) {
			const [one, two] = [() => 'one', () => 'two'];
			console.log(process.argv[2] === 'two' ? two() : one());
			if (process.argv[3]) require('./' + process.argv[3]);
		})`,
	);
	for (const name of ['late.js', 'later.js']) writeFileSync(join(copy.parts, name), '(function () {})');
	const size = () => statSync(join(copy.parts, `main.js${CACHE}`)).size;
	const inode = () => statSync(join(copy.parts, `main.js${CACHE}`)).ino;
	const run = (...words: string[]) => copy.run([copy.launcher, ...words]);
	await run('one');
	const first = size();
	// A part that has to be compiled makes a run keep what it has.
	await run('two', 'late.js');
	expect(size()).toBeGreaterThan(first);
	const second = inode();
	await run('one', 'later.js');
	expect(copy.cacheNames()).toContain(`later.js${CACHE}`);
	expect(inode()).toBe(second);
});

test('functions that ran long ago are kept, too', async () => {
	const copy = new ProgramCopy();
	// Memory that is let go makes V8 collect garbage, and drop what is old; it does neither when it is only asked to.
	writeFileSync(
		join(copy.parts, 'main.js'),
		`(function () {
			const longAgo = () => ${JSON.stringify('text '.repeat(20))}.split(' ').map(each => each.length).join('');
			longAgo();
			let turns = Number(process.argv[2]);
			setImmediate(function later() {
				for (let count = 0; count < 100; count++) Buffer.alloc(64 * 1024 * 1024);
				if (--turns > 0) setImmediate(later);
			});
		})`,
	);
	const sizeAfter = async (turns: number): Promise<number> => {
		copy.removeCaches();
		await copy.run([copy.launcher, String(turns)]);
		return statSync(join(copy.parts, `main.js${CACHE}`)).size;
	};
	expect(await sizeAfter(40)).toBe(await sizeAfter(1));
});

test('what V8 rejects for the flags of a running server is left as it is', async () => {
	const copy = new ProgramCopy();
	copy.removeCaches();
	writeFileSync(join(copy.parts, 'late.js'), '(function () {})');
	writeFileSync(
		join(copy.parts, 'main.js'),
		`(function (require) {
			if (process.argv[2]) require('node:v8').setFlagsFromString('--semi-space-growth-factor=1');
			require('./late.js');
		})`,
	);
	const inodes = () => copy.cacheNames().map(name => statSync(join(copy.parts, name)).ino);
	await copy.run([copy.launcher]);
	const before = inodes();
	expect(before).toHaveLength(2);
	await copy.run([copy.launcher, 'running']);
	expect(inodes()).toEqual(before);
});

test('a server reads three files of the program, which have all that its usual calls need', async () => {
	const copy = new ProgramCopy();
	const {warmUp} = (await import(new URL('../../scripts/lib/warm-up.mjs', import.meta.url).href)) as {
		warmUp: (address: string) => Promise<void>;
	};
	const told = join(copy.folder, 'read');
	const preload = join(copy.folder, 'preload.cjs');
	writeFileSync(
		preload,
		`const fs = require('node:fs');
		const read = fs.readFileSync;
		fs.readFileSync = (path, ...others) => {
			if (/parts.[^/]*\\.js$/.test(path)) fs.appendFileSync(${JSON.stringify(told)}, path.split(/[/\\\\]/).at(-1) + ' ');
			return read(path, ...others);
		};`,
	);
	const words = [
		'serve',
		'--listen',
		'ws://127.0.0.1:0',
		'--log-level',
		'error',
		'--state',
		join(copy.folder, 'state'),
	];
	const server = spawn(process.execPath, ['--require', preload, copy.launcher, ...words], {
		stdio: ['ignore', 'pipe', 'inherit'],
	});
	try {
		const [line] = (await once(server.stdout, 'data')) as [Buffer];
		await warmUp(String(line).trim());
	} finally {
		server.kill();
		await once(server, 'exit');
	}
	expect(readFileSync(told, 'utf8').trim().split(' ').sort()).toEqual(['client-server.js', 'main.js', 'server.js']);
});
