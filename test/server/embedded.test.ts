import {type ChildProcess, spawn} from 'node:child_process';
import {once} from 'node:events';
import {expect, test} from 'vitest';
import {readProcessInfo} from '../../src/processes/tree/process-tree.js';
import {endWithTest, joined, served, toldPids} from '../helpers/process-api.js';
import {eventually, isAlive, untilDead} from '../helpers/processes.js';
import {serving} from '../helpers/serving.js';
import {spawnUnrelated} from '../helpers/subreaper.js';

/** Ends with this code once its input does. */
function own(code: number): ChildProcess {
	return spawn('/bin/sh', ['-c', `cat; exit ${code}`], {stdio: ['pipe', 'ignore', 'ignore']});
}

test('children of the program around the server keep their exit codes, however many of ours end at the same time', async () => {
	const {client} = await served();
	const children = Array.from({length: 20}, (_, code) => own(code));
	const codes = children.map(child => once(child, 'exit'));
	const ours = Array.from({length: 40}, async (_, index) => {
		await client.sh(`p${index}`, `exit ${index}`);
		if (index % 2 === 0) children[index / 2]!.stdin!.end();
		return (await client.done(`p${index}`)).exitCode;
	});
	expect(await Promise.all(ours)).toEqual(Array.from({length: 40}, (_, index) => index));
	expect(await Promise.all(codes)).toEqual(Array.from({length: 20}, (_, code) => [code, null]));
});

test('nothing that ends our processes touches those of the program around the server', async () => {
	const apart = spawnUnrelated();
	const {server, url} = await serving({detachedSessionMs: 0});
	const ended = await joined(url);
	await ended.sh('p', 'setsid sh -c "echo \\$\\$; exec sleep 1000" & echo $$; wait');
	const first = await toldPids(ended, 'p', 2);
	await ended.call('process/terminate', {processId: 'p'});
	await untilDead(...first);
	const expired = await joined(url);
	await expired.sh('p', 'echo $$; exec sleep 1000');
	const second = await toldPids(expired, 'p', 1);
	expired.rpc.destroy();
	await untilDead(...second);
	const last = await joined(url);
	await last.sh('p', 'echo $$; exec sleep 1000');
	const third = await toldPids(last, 'p', 1);
	server.kill();
	await untilDead(...third);
	await server.shutdown(0);
	expect(isAlive(apart)).toBe(true);
});

test('orphans are not handed to a program that did not ask for them', async () => {
	const {client} = await served();
	await client.sh('p', `setsid -f sh -c 'echo $$; exec sleep 1000'; echo $$`);
	await client.event('p', 'process/exited');
	const orphan = (await toldPids(client, 'p', 2)).find(isAlive)!;
	endWithTest(orphan);
	await eventually(() => readProcessInfo(orphan)?.command === 'sleep');
	expect(readProcessInfo(orphan)?.parentPid).not.toBe(process.pid);
});
