import {expect, onTestFinished, test} from 'vitest';
import {waitFor} from '../../../src/client/run/wait-for.js';
import {LazyClient} from '../../../src/client/session/lazy-client.js';
import {SessionClient} from '../../../src/client/session/session-client.js';
import {Environment} from '../../../src/environments/environment.js';
import {connectWebSocket} from '../../../src/transports/node/connect-web-socket.js';
import {serving} from '../../helpers/serving.js';
import {sh} from '../../helpers/start-params.js';
import {closeWithTest} from '../../helpers/transports.js';

const ECHO = 'echo begun; while read x; do echo "got $x"; done';

async function open(url: string, resumeSessionId?: string): Promise<SessionClient> {
	const connect = (signal?: AbortSignal) => connectWebSocket(url, {signal});
	const client = await SessionClient.open(connect, resumeSessionId === undefined ? {} : {resumeSessionId});
	onTestFinished(() => client.close());
	return client;
}

test('a new client carries a session on: what was said is read, and what is written is heard', async () => {
	const {url} = await serving();
	const first = await open(url);
	const {process: started} = await first.start(sh('p', ECHO, {pipeStdin: true}));
	await started.write('one\n');
	const {end} = await waitFor(started, {pattern: 'got one\n'});
	await first[Symbol.asyncDispose]();

	const second = await open(url, first.sessionId);
	expect(second.sessionId).toBe(first.sessionId);
	const process = await second.attach('p');
	expect(await second.attach('p')).toBe(process);
	await waitFor(process, {pattern: /^begun\ngot one\n/});
	// Each write id counts once in a session: this one is not the first client's.
	await process.write('two\n');
	const {match} = await waitFor(process, {pattern: /^.*\n/, after: end});
	expect(match[0]).toBe('got two\n');
	await process.closeStdin();
	expect(await process.exited).toMatchObject({exitCode: 0});
	await process.closed;
});

test('a process is carried on from behind an event, and one that is over is there to the end', async () => {
	const {url} = await serving();
	const first = await open(url);
	const {process: started} = await first.start(sh('p', 'echo one; read x; echo two; exit 3', {pipeStdin: true}));
	const {end} = await waitFor(started, {pattern: 'one\n'});
	await started.write('go\n');
	await started.closed;
	await first[Symbol.asyncDispose]();

	const second = await open(url, first.sessionId);
	const process = await second.attach('p', {afterSeq: end.seq});
	const lines: string[] = [];
	for await (const line of process.lines()) lines.push(line);
	expect(lines).toEqual(['two']);
	expect(await process.exited).toMatchObject({exitCode: 3});
	await expect(second.attach('q')).rejects.toThrow('unknown process id q');
});

test('a process that waits for its reader runs on with a new client that does not hold it back', async () => {
	const {url} = await serving();
	const first = await open(url);
	const script = 'dd if=/dev/zero bs=65536 count=64 2>/dev/null; echo >&2 all written';
	const {process: started} = await first.start(sh('p', script), {backpressure: true});
	await started.waitForSeq(1);
	await first[Symbol.asyncDispose]();
	const second = await open(url, first.sessionId);
	const process = await second.attach('p');
	expect(await process.exited).toMatchObject({exitCode: 0});
});

test('a session that is lost for good is not asked for again', async () => {
	const {url} = await serving();
	const first = await open(url);
	const lazy = new LazyClient(signal => connectWebSocket(url, {signal}), {resumeSessionId: first.sessionId!});
	onTestFinished(() => lazy.close());
	await expect(lazy.client()).rejects.toThrow('exec-server connection attempt failed');
	await first[Symbol.asyncDispose]();

	const other = await serving();
	const holder = await open(other.url);
	await holder[Symbol.asyncDispose]();
	const options = {resumeSessionId: holder.sessionId!, recovers: false};
	const resumed = new LazyClient(signal => connectWebSocket(other.url, {signal}), options);
	onTestFinished(() => resumed.close());
	const client = await resumed.client();
	expect(client.sessionId).toBe(holder.sessionId);
	for (const end of other.ends) end.rpc.destroy();
	await client.ended;
	expect((await resumed.client()).sessionId).not.toBe(holder.sessionId);
});

test('an environment tells its session, and another one carries it on', async () => {
	const {url} = await serving();
	const first = Environment.remote('first', url);
	const process = await first.start(['/bin/sh', '-c', ECHO], {stdin: true, processId: 'kept'});
	await first.waitFor(process, {pattern: 'begun'});
	const resumeSessionId = (await first.sessionId())!;
	await first.close();
	const second = closeWithTest(Environment.remote('second', url, {resumeSessionId}));
	const attached = await second.attach('kept');
	await attached.write('again\n');
	expect(await second.waitFor(attached, {pattern: 'got again'})).toMatchObject({by: 'pattern'});
	await attached.terminate();
});

test('on this machine a process is found by its id, as long as it is kept', async () => {
	const here = closeWithTest(Environment.local());
	const process = await here.start(['/bin/sleep', '1000'], {processId: 'mine'});
	expect(await here.attach('mine')).toBe(process);
	expect(await here.sessionId()).toBeUndefined();
	await expect(here.attach('yours')).rejects.toThrow('unknown process id yours');
});
