import {spawn, spawnSync} from 'node:child_process';
import {chownSync, readFileSync} from 'node:fs';
import {expect, onTestFinished, test} from 'vitest';
import {StdioTransport} from '../../src/transports/node/stdio.js';
import {PROGRAM} from '../helpers/command.js';
import {isRoot, needsRoot, unless} from '../helpers/needs.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {TestClient} from '../helpers/test-client.js';

const SECRET = 'a-token-of-the-server';
const NOBODY = {uid: 65_534, gid: 65_534};

/** A server that is not root’s can be had by everybody, unless this program is in a folder of root’s own. */
const asUser = unless(
	isRoot && spawnSync(process.execPath, [PROGRAM, '--version'], {...NOBODY, cwd: '/'}).status !== 0
		? 'nobody cannot run this Node'
		: undefined,
);

interface Served {
	readonly client: TestClient;
	readonly pid: number;
}

/** A server with a token among its variables that has started a process. */
async function serve(user: object = {}): Promise<Served> {
	const home = scratchDirectory();
	if ('uid' in user) chownSync(home, NOBODY.uid, NOBODY.gid);
	const server = spawn(process.execPath, [PROGRAM, 'serve', '--listen', 'stdio'], {
		...user,
		cwd: '/',
		env: {PATH: process.env['PATH'], HOME: home, LONGARM_EXEC_SERVER_TOKEN: SECRET, OTHER: 'other'},
		stdio: ['pipe', 'pipe', 'inherit'],
	});
	onTestFinished(() => void server.kill('SIGKILL'));
	const client = await new TestClient(new StdioTransport(server.stdout, server.stdin)).initialize();
	await client.sh('first', 'exit 0');
	await client.done('first');
	return {client, pid: server.pid!};
}

test('a child of a server that is not root’s cannot read its environment, memory and descriptors', asUser, async () => {
	const {client, pid} = await serve(isRoot ? NOBODY : {});
	for (const name of ['environ', 'mem', 'maps', 'auxv', 'stack', 'syscall']) {
		await client.sh(name, `cat /proc/${pid}/${name}`);
		const {exitCode, stdout} = await client.done(name);
		expect([name, exitCode === 0, stdout]).toEqual([name, false, '']);
	}
	await client.sh('fd', `ls /proc/${pid}/fd`);
	expect(await client.done('fd')).toMatchObject({stdout: ''});
	await client.sh('exe', `readlink /proc/${pid}/exe`);
	expect(await client.done('exe')).toMatchObject({stdout: ''});
});

test('a hidden server prefers its children when memory runs out, and starts terminals', asUser, async () => {
	const {client, pid} = await serve(isRoot ? NOBODY : {});
	await client.sh('score', 'cat /proc/self/oom_score_adj');
	expect(await client.done('score')).toMatchObject({stdout: '500\n'});
	expect(readFileSync(`/proc/${pid}/oom_score_adj`, 'utf8')).not.toBe('500\n');
	await client.sh('terminal', 'test -t 0 && echo yes', {tty: true});
	expect(await client.done('terminal')).toMatchObject({exitCode: 0, pty: 'yes\r\n'});
});

test('a protected variable is erased from the environment of the server, also for root', needsRoot(), async () => {
	const {pid} = await serve();
	const variables = readFileSync(`/proc/${pid}/environ`, 'latin1');
	expect(variables).toContain('OTHER=other\0');
	expect(variables).not.toContain(SECRET);
});
