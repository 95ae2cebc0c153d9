// covers: src/server/handoff/hand-over-sharing.ts, src/server/state/server-state.ts, src/processes/output/write-unwritten.ts
import {readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import type {ProcessHandle} from '../../src/client/process/process-handle.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {collect, counting, countLines, startScript, UpgradableServer} from '../helpers/upgrades.js';

const KEPT = {onDisconnect: 'keep', spill: {}} as const;
const OPEN_STDIN = {io: {pipe: {stdin: 'open'}}} as const;

async function readLogs(handle: ProcessHandle): Promise<string> {
	const pieces: Uint8Array[] = [];
	for await (const entry of handle.logs()) if (entry.kind === 'output') pieces.push(entry.bytes);
	return Buffer.concat(pieces).toString();
}

test('output on disk is whole over upgrades, and those that watch go on without a gap', async () => {
	const state = scratchDirectory();
	const server = new UpgradableServer(['--state', state]);
	const [agent, human] = [await server.client({clientName: 'agent'}), await server.client({clientName: 'human'})];
	const stop = join(scratchDirectory(), 'stop');
	const own = await startScript(agent, 'job', counting(stop), {...KEPT, name: 'count'});
	const watched = await human.attach('count', {role: 'observe'});
	const results = Promise.all([own, watched].map(collect));
	for (let count = 0; count < 3; count++) {
		const seq = watched.lastSeq;
		await server.upgrade();
		await watched.waitForSeq(seq + 2);
	}
	writeFileSync(stop, '');
	for (const {text, ends, exitCode} of await results) {
		expect({ends, exitCode}).toEqual({ends: ['exited', 'closed'], exitCode: 7});
		expect(countLines(text)).toBeTypeOf('number');
	}
	const [{text}] = (await results) as [{text: string}, unknown];
	expect(readFileSync(join(state, 'processes', 'job', 'out'), 'utf8')).toBe(text);
	await server.upgrade();
	expect(await readLogs(await human.attach('count', {role: 'observe'}))).toBe(text);
});

test('the seat of the driver, names and what has ended are as before an upgrade', async () => {
	const server = new UpgradableServer(['--state', scratchDirectory()]);
	const [agent, human] = [await server.client({clientName: 'agent'}), await server.client({clientName: 'human'})];
	await startScript(agent, 'ended', 'echo over; exit 5', {...KEPT, name: 'old'});
	await (await human.attach('old', {role: 'observe'})).closed;
	const own = await startScript(agent, 'sh', 'while read line; do echo "got $line"; done', {
		...OPEN_STDIN,
		name: 'shell',
	});
	const taken = await human.attach('shell', {role: 'drive', takeover: true});
	await server.upgrade();
	await taken.write('after\n');
	await own.waitFor({pattern: 'got after'});
	await expect(own.write('no\n')).rejects.toThrow('human drives it');
	const {processes} = await human.repeat('process/list', {all: true, includeEnded: true});
	expect(processes.map(({processId, state, exitCode, driver}) => ({processId, state, exitCode, driver}))).toEqual(
		expect.arrayContaining([
			{processId: 'sh', state: 'running', exitCode: null, driver: 'human'},
			{processId: 'ended', state: 'closed', exitCode: 5, driver: 'agent'},
		]),
	);
	await taken.closeStdin();
});
