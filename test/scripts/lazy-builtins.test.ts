import {execFileSync} from 'node:child_process';
import {writeFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {EOL} from 'node:os';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {build, type Plugin} from 'esbuild';
import * as fc from 'fast-check';
import {expect, test} from 'vitest';
import {scratchDirectory} from '../helpers/scratch.js';

const LIBRARY = new URL('../../scripts/lib/', import.meta.url);
const {lazyBuiltins} = (await import(new URL('lazy-builtins.mjs', LIBRARY).href)) as {lazyBuiltins: Plugin};
const LAZY = ['child_process', 'dns', 'http', 'https', 'net', 'tls', 'worker_threads', 'zlib'];
const MEMBERS_CHECKED = [
	...LAZY,
	'assert',
	'crypto',
	'fs/promises',
	'module',
	'os',
	'perf_hooks',
	'querystring',
	'timers/promises',
	'tty',
];

/** Bundles a script with the plugin and runs it; the JSON it prints. */
async function run<Printed>(script: string): Promise<Printed> {
	const folder = scratchDirectory();
	const entry = join(folder, 'entry.js');
	const outfile = join(folder, 'bundled.cjs');
	writeFileSync(entry, script);
	await build({
		entryPoints: [entry],
		outfile,
		bundle: true,
		platform: 'node',
		target: 'node20',
		format: 'cjs',
		plugins: [lazyBuiltins],
		logLevel: 'silent',
	});
	const flags = ['--no-deprecation', outfile];
	return JSON.parse(execFileSync(process.execPath, flags, {encoding: 'utf8'})) as Printed;
}

/** A member that is not one of every function. */
function memberOf(name: string): string {
	const members = Object.keys(process.getBuiltinModule(name) as object);
	if (members.length === 0) throw new Error(`${name} has no members`);
	return members[0]!;
}

const LOADED = `process.moduleLoadList.filter(each => each.startsWith('NativeModule ')).map(each => each.slice(13))`;

test('a built-in module is loaded when a member is used, not before', async () => {
	const bare = JSON.parse(
		execFileSync(process.execPath, ['-e', `console.log(JSON.stringify(${LOADED}))`], {encoding: 'utf8'}),
	) as string[];
	// Node itself loads a few, which differ between its versions.
	const names = LAZY.filter(name => !bare.includes(name));
	expect(names).toEqual(expect.arrayContaining(['http', 'tls', 'zlib']));
	const [before, after] = await run<[string[], string[]]>(`
		${names.map((name, index) => `import whole${index}, * as all${index} from 'node:${name}';`).join('\n')}
		const modules = [${names.map((_, index) => `whole${index}, all${index}`).join(', ')}];
		const members = {${names.map(name => `'${name}': ${JSON.stringify(memberOf(name))}`).join(',')}};
		const before = ${LOADED};
		modules.forEach((each, index) => void each[Object.values(members)[index >> 1]]);
		console.log(JSON.stringify([before, ${LOADED}]));
	`);
	expect(before.filter(name => names.includes(name))).toEqual([]);
	expect(after).toEqual(expect.arrayContaining(names));
});

test('every member of a built-in module is reachable', async () => {
	const missing = await run<string[]>(`
		const standIns = {${MEMBERS_CHECKED.map(name => `'${name}': require('node:${name}')`).join(',')}};
		const missing = [];
		for (const [name, standIn] of Object.entries(standIns)) {
			const real = process.getBuiltinModule('node:' + name);
			for (const member of Object.getOwnPropertyNames(real)) {
				if (typeof real === 'function' && ['length', 'name', 'prototype'].includes(member)) continue;
				const isForwarded = (name === 'crypto' && typeof real[member] === 'function') || member === 'createRequire';
				const isSame = isForwarded ? typeof standIn[member] === 'function' : Object.is(standIn[member], real[member]);
				if (!isSame) missing.push(name + '.' + member);
			}
			if (typeof real !== typeof standIn) missing.push(name);
		}
		console.log(JSON.stringify(missing));
	`);
	expect(missing).toEqual([]);
});

test('a module that imports a built-in module gets no copy of its members', async () => {
	const own = await run<string[]>(`
		import * as http from 'node:http';
		import * as zlib from 'node:zlib';
		console.log(JSON.stringify([http, zlib].map(each => Object.getOwnPropertyNames(each).join())));
	`);
	expect(own).toEqual(['default', 'default']);
});

test('a member that was used is the same for all modules that import it, and read once', async () => {
	const printed = await run(`
		import * as http from 'node:http';
		const other = require('node:http');
		const real = process.getBuiltinModule('http');
		const before = http.Agent === real.Agent;
		real.Agent = class {};
		console.log(JSON.stringify([before, http.Agent === other.Agent, other.Agent === real.Agent]));
	`);
	expect(printed).toEqual([true, true, false]);
});

test('a program requires packages by itself, and others with a `require` of their own', async () => {
	const printed = await run(`
		globalThis.importMetaUrl = require('node:url').pathToFileURL(__filename).href;
		import {createRequire} from 'node:module';
		const isLoaded = () => process.moduleLoadList.includes('NativeModule module');
		const loadedBefore = isLoaded();
		const own = createRequire(importMetaUrl);
		const loadedForIt = isLoaded() && !loadedBefore;
		const other = createRequire(__filename + '.other');
		console.log(JSON.stringify([loadedForIt, own === other, own('node:os').EOL, own.resolve(__filename) === __filename]));
	`);
	expect(printed).toEqual([false, false, EOL, true]);
});

test('members of modules that every start uses are the real ones', async () => {
	const same = await run(`
		import {readFileSync, promises} from 'node:fs';
		import path, {join} from 'node:path';
		import {EventEmitter} from 'node:events';
		const real = name => process.getBuiltinModule('node:' + name);
		console.log(JSON.stringify([
			readFileSync === real('fs').readFileSync, promises === real('fs').promises, path === real('path'),
			join === real('path').join, EventEmitter === real('events').EventEmitter,
		]));
	`);
	expect(same).toEqual([true, true, true, true, true]);
});

test('functions of crypto can be taken apart without loading it, and then called', async () => {
	const printed = await run(`
		const {createHash, randomBytes, KeyObject} = require('crypto');
		import {randomUUID} from 'node:crypto';
		console.log(JSON.stringify([
			createHash('sha256').update('abc').digest('hex').slice(0, 8), randomBytes(4).length, randomUUID().length,
			KeyObject === process.getBuiltinModule('crypto').KeyObject,
		]));
	`);
	expect(printed).toEqual(['ba7816bf', 4, 36, true]);
});

test('a built-in module that is a function can be called and constructed', async () => {
	const printed = await run(`
		import assert from 'node:assert';
		import Module from 'node:module';
		let failed;
		try { assert(false, 'as expected'); } catch (error) { failed = error.message; }
		console.log(JSON.stringify([failed, new Module('some-id').id, typeof Module.createRequire]));
	`);
	expect(printed).toEqual(['as expected', 'some-id', 'function']);
});

interface Masking {
	readonly mask: (source: Buffer, mask: Buffer, output: Buffer, offset: number, length: number) => void;
	readonly unmask: (buffer: Buffer, mask: Buffer) => void;
}

const STAND_IN = fileURLToPath(new URL('lazy-bufferutil.cjs', LIBRARY));

test('the stand-in for bufferutil masks and unmasks messages of any size', () => {
	const {mask, unmask} = createRequire(import.meta.url)(STAND_IN) as Masking;
	const sizes = fc.oneof(fc.nat(40), fc.integer({min: 1020, max: 1030}), fc.nat(5000));
	const keys = fc.uint8Array({minLength: 4, maxLength: 4});
	fc.assert(
		fc.property(sizes, keys, fc.nat(9), (size, bytes, offset) => {
			const content = Buffer.from(Array.from({length: size}, (_, index) => (index * 31 + offset) & 0xff));
			const key = Buffer.from(bytes);
			const output = Buffer.alloc(offset + content.length + 1, 0xaa);
			mask(content, key, output, offset, content.length);
			const expected = Buffer.from(content.map((byte, index) => byte ^ key[index & 3]!));
			expect(output.subarray(offset, -1).equals(expected)).toBe(true);
			expect([...output.subarray(0, offset), output.at(-1)]).toEqual(Array.from({length: offset + 1}, () => 0xaa));
			const back = Buffer.from(expected);
			unmask(back, key);
			expect(back.equals(content)).toBe(true);
		}),
	);
});

test('the stand-in loads native code for a large message only', () => {
	const script = `
		const {unmask} = require(${JSON.stringify(STAND_IN)});
		const isLoaded = () => Object.keys(require.cache).some(path => path.includes('/node_modules/bufferutil/'));
		unmask(Buffer.alloc(1023), Buffer.alloc(4));
		const before = isLoaded();
		unmask(Buffer.alloc(1024), Buffer.alloc(4));
		console.log(JSON.stringify([before, isLoaded()]));
	`;
	expect(JSON.parse(execFileSync(process.execPath, ['-e', script], {encoding: 'utf8'}))).toEqual([false, true]);
});

test('without bufferutil the stand-in does the work itself', () => {
	const folder = scratchDirectory();
	const script = `
		const {readFileSync, writeFileSync} = require('node:fs');
		writeFileSync('alone.cjs', readFileSync(${JSON.stringify(STAND_IN)}));
		const {unmask} = require('./alone.cjs');
		const buffer = Buffer.alloc(4096);
		unmask(buffer, Buffer.from([1, 2, 3, 4]));
		console.log(JSON.stringify([...buffer.subarray(4092)]));
	`;
	const printed = execFileSync(process.execPath, ['-e', script], {cwd: folder, encoding: 'utf8'});
	expect(JSON.parse(printed)).toEqual([1, 2, 3, 4]);
});
