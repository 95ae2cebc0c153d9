import {readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {describe, expect, test} from 'vitest';
import {copyFiles} from '../../src/client/files/copy/copy-files.js';
import {transfer} from '../../src/client/files/copy/transfer.js';
import type {DisconnectPolicy} from '../../src/client/run/command.js';
import {toStartParams} from '../../src/client/run/command.js';
import {Environment} from '../../src/environments/environment.js';
import {eventually, isAlive} from '../helpers/processes.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {serving} from '../helpers/serving.js';
import {closeWithTest, ENVIRONMENTS} from '../helpers/transports.js';

describe.each(Object.entries(ENVIRONMENTS))('%s', (name, machine) => {
	test.skipIf(name.includes('stock'))('a process shows head and tail of what it said so far', async () => {
		const environment = await machine();
		const process = await environment.start(['/bin/sh', '-c', 'echo out; echo err >&2; read x; exit 3'], {stdin: true});
		await environment.waitFor(process, {pattern: 'out\n'});
		await environment.waitFor(process, {pattern: 'err\n'});
		const shown = await process.snapshot();
		expect([shown.stdout, shown.stderr].map(bytes => Buffer.from(bytes).toString())).toEqual(['out\n', 'err\n']);
		expect(shown).toMatchObject({running: true, exitCode: null, truncated: false});
		await process.write('\n');
		await process.closed;
		expect(await process.snapshot()).toMatchObject({running: false, exitCode: 3, totalBytes: {stdout: 4, stderr: 4}});
	});

	test('files are copied between environments by name', async () => {
		const [environment, here] = [await machine(), await ENVIRONMENTS['this machine']!()];
		const directory = scratchDirectory();
		const [from, to, again] = ['from', 'to', 'again'].map(one => join(directory, one)) as [string, string, string];
		writeFileSync(from, 'carried');
		await transfer({from: here.at(from), to: {environment, path: to}});
		await copyFiles({from: {environment, path: to}, to: here.at(again)});
		expect([to, again].map(path => readFileSync(path, 'utf8'))).toEqual(['carried', 'carried']);
	});
});

test('an end of a copy that has no files, and an option that does not exist, are refused', async () => {
	const here = await ENVIRONMENTS['this machine']!();
	const to = here.at('/tmp/never');
	await expect(transfer({from: {path: '/x'} as never, to})).rejects.toThrow('`from` must be {files, path}');
	await expect(copyFiles({from: to, to: {environment: here} as never})).rejects.toThrow('`to` must be');
	await expect(transfer({from: to, to}, {overwite: true} as object)).rejects.toThrow('did you mean `overwrite`?');
	await expect(copyFiles({from: to, to}, {verify: true} as object)).rejects.toThrow('unknown option `verify`');
});

test('a process ends or stays when its client leaves, as it was told at its start', async () => {
	const {url, server} = await serving({detachedSessionMs: 0});
	const environment = closeWithTest(Environment.remote('there', url));
	const pids: number[] = [];
	for (const onDisconnect of ['endAtOnce', {keepFor: '1h'}] as const) {
		const process = await environment.start(['/bin/sh', '-c', 'echo $$; exec sleep 1000'], {onDisconnect});
		const {match} = await environment.waitFor(process, {pattern: /^(\d+)\n/});
		pids.push(Number(match[1]));
	}
	await environment.close();
	await eventually(() => !isAlive(pids[0]!));
	expect(isAlive(pids[1]!)).toBe(true);
	await server.shutdown();
	expect(isAlive(pids[1]!)).toBe(false);
});

test('a lifetime that does not exist, or that the executor does not know, is refused', async () => {
	const here = await ENVIRONMENTS['this machine']!();
	const wrong: [unknown, string][] = [
		['keep', "must be 'endWithSession', 'endAtOnce' or {keepFor: '5m'}"],
		[{keepfor: '5m'}, 'did you mean `keepFor`?'],
		[{keepFor: 'ever'}, '`keepFor` of onDisconnect must be milliseconds'],
	];
	for (const [given, message] of wrong) {
		const onDisconnect = given as DisconnectPolicy;
		await expect(here.start(['true'], {onDisconnect})).rejects.toThrow(message);
		await expect(here.run(['true'], {onDisconnect, reject: false})).rejects.toThrow(message);
	}
	const {capabilities: _, ...old} = await here.info();
	const stock = {processes: here.processes, info: async () => old};
	const asked = toStartParams(stock, ['true'], {onDisconnect: 'endAtOnce'});
	await expect(asked).rejects.toMatchObject({code: 'NOT_SUPPORTED'});
});
