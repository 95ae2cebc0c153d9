import {join} from 'node:path';
import {expect, onTestFinished, test} from 'vitest';
import {Environment} from '../../../src/environments/environment.js';
import {scratchDirectory} from '../../helpers/scratch.js';
import {serving} from '../../helpers/serving.js';

/** Two clients of one server with output on disk. */
async function clients(): Promise<[Environment, Environment]> {
	const {url} = await serving({stateDirectory: join(scratchDirectory(), 'state')});
	const both = ['ann', 'bob'].map(clientName => Environment.remote(clientName, url, {clientName}));
	onTestFinished(async () => {
		for (const environment of both) await environment.close();
	});
	return both as [Environment, Environment];
}

test('a client asks about a process without being attached to it', async () => {
	const [ann, bob] = await clients();
	const changes: string[] = [];
	const process = await ann.start(['sh', '-c', 'echo ready; read line; exit 3'], {
		name: 'job',
		detach: true,
		stdin: true,
	});
	process.onChange(({kind}) => changes.push(kind));
	const job = await bob.processes.reference('job');
	const {by, match} = await job.waitFor({pattern: /re(a)dy/});
	expect([by, ...match]).toEqual(['pattern', 'ready', 'a']);
	const [listed] = await bob.processes.list({all: true});
	expect(listed).toMatchObject({name: 'job', driver: 'ann', attached: [{client: 'ann', role: 'drive'}]});
	await process.write('on\n');
	expect(await job.waitFor({exit: true})).toMatchObject({by: 'exit', exit: {exitCode: 3}});
	await expect(job.waitFor({pattern: 'never'})).rejects.toMatchObject({name: 'WaitError', reason: 'ended'});
	await process.closed;
	expect(changes).toEqual([]);
	let text = '';
	for await (const entry of job.logs()) if (entry.kind === 'output') text += new TextDecoder().decode(entry.bytes);
	expect(text).toBe('ready\n');
	await job.remove();
	await expect(job.waitFor({exit: true})).rejects.toThrow('unknown process id job');
});

test('a pattern with flags is waited for without attaching, and nothing of the output is read for it', async () => {
	const [ann, bob] = await clients();
	await ann.start(['sh', '-c', 'echo one TWO; exec sleep 1000'], {name: 'job', detach: true});
	const job = await bob.processes.reference('job');
	const {match, before, isTruncated} = await job.waitFor({pattern: /two/i});
	expect([match[0], before, isTruncated]).toEqual(['TWO', '', true]);
});

test('a recording has output, sizes and the end in the order of their times', async () => {
	const [ann, bob] = await clients();
	const script = `trap 'stty size; exit 4' WINCH; echo ready; while :; do sleep 0.05; done`;
	const process = await ann.start(['sh', '-c', script], {
		name: 'film',
		detach: true,
		record: true,
		tty: {rows: 24, cols: 80},
	});
	await process.waitFor({pattern: 'ready'});
	await process.resize({rows: 30, cols: 100});
	await process.closed;
	const entries = [];
	for await (const entry of (await bob.processes.reference('film')).recording()) entries.push(entry);
	const kinds = entries.map(entry => (entry.kind === 'resize' ? `${entry.cols}x${entry.rows}` : entry.kind));
	expect(kinds.filter(kind => kind !== 'output')).toEqual(['80x24', '100x30', 'exit']);
	expect(kinds.indexOf('output')).toBeLessThan(kinds.indexOf('100x30'));
	expect(entries.at(-1)).toMatchObject({kind: 'exit', exitCode: 4});
});

test('output that is not on disk has no times, and no recording', async () => {
	const [ann, bob] = await clients();
	const process = await ann.start(['echo', 'x'], {name: 'plain'});
	await process.closed;
	const plain = await bob.processes.reference('plain');
	await expect(plain.recording().next()).rejects.toMatchObject({code: 'NOT_SUPPORTED'});
});
