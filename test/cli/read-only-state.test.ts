// covers: src/server/state, src/processes/spill/process-store.ts
import {type ChildProcess, spawn, spawnSync} from 'node:child_process';
import {once} from 'node:events';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {text} from 'node:stream/consumers';
import {describe, expect, onTestFinished, test} from 'vitest';
import {isRoot, unless} from '../helpers/needs.js';
import {refusal} from '../helpers/process-api.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {TestClient} from '../helpers/test-client.js';

const COMMAND = new URL('../../dist/bin/longarm.js', import.meta.url).pathname;
/** Shows its first argument as a read-only directory to the program behind it. */
const READ_ONLY = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && shift && exec "$@"';
const KEPT = {onDisconnect: 'keep', spill: {}};

function readOnly(directory: string, argv: readonly string[]): string[] {
	return ['-m', 'sh', '-c', READ_ONLY, 'sh', directory, ...argv];
}

function whyNot(): string | undefined {
	if (!isRoot) return 'only root can mount';
	const {status} = spawnSync('unshare', readOnly(tmpdir(), ['true']));
	return status === 0 ? undefined : 'nothing can be mounted here';
}

async function addressOf(server: ChildProcess): Promise<string> {
	let printed = '';
	for await (const piece of server.stdout!) {
		printed += String(piece);
		const url = /ws:\/\/\S+/.exec(printed)?.[0];
		if (url !== undefined) return url;
	}
	throw new Error(`no address in ${printed}`);
}

/** A server that sees `home`, the place of states, as read-only. */
function serve(home: string, ...flags: string[]): ChildProcess {
	const argv = [process.execPath, COMMAND, 'serve', '--listen', 'ws://127.0.0.1:0', ...flags];
	const env = {...process.env, XDG_STATE_HOME: home};
	const server = spawn('unshare', readOnly(home, argv), {stdio: ['ignore', 'pipe', 'pipe'], env});
	onTestFinished(() => void server.kill());
	return server;
}

describe('on a read-only disk', unless(whyNot()), () => {
	test('the state directory of a server is named when it is needed, and plain processes run', async () => {
		const home = scratchDirectory();
		const client = await TestClient.overWebSocket(await addressOf(serve(home)));
		await client.initialize();
		const answer = (await refusal(client.sh('kept', 'echo text', KEPT))) as Error;
		expect(answer).toMatchObject({data: {code: 'STATE_UNUSABLE'}});
		expect(answer.message).toMatch(/read-only file system/i);
		expect(answer.message).toContain(join(home, 'longarm'));
		await client.sh('plain', 'echo text');
		expect(await client.done('plain')).toMatchObject({exitCode: 0, stdout: 'text\n'});
		expect(await client.call('process/list', {all: true})).not.toMatchObject({processes: [{processId: 'kept'}]});
	});

	test('a state directory that was asked for ends the server with the reason', async () => {
		const home = scratchDirectory();
		const server = serve(home, '--state', join(home, 'state'));
		server.stdout!.resume();
		const ended = once(server, 'exit');
		expect(await text(server.stderr!)).toMatch(/error: state .*\/state cannot be used: Read-only file system/);
		expect((await ended)[0]).not.toBe(0);
	});
});
