import {existsSync, readFileSync, statSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {Command, run} from '../helpers/command.js';
import {isRoot} from '../helpers/needs.js';
import {scratchDirectory} from '../helpers/scratch.js';

test('a server on a socket is reached by -e, by a name, by a variable and in addresses', async () => {
	const root = scratchDirectory();
	const path = join(root, 'run', 'x.sock');
	const server = new Command(['serve', '--listen', `unix:${path}`]);
	expect(await server.url()).toBe(`unix:${path}`);
	expect(statSync(path).mode & 0o777).toBe(0o600);
	const env = {LONGARM_HOME: join(root, 'home')};

	const url = `unix:${path}`;
	expect(await run(['run', '-e', url, '--', 'sh', '-c', 'echo out; exit 3'])).toMatchObject({code: 3, stdout: 'out\n'});
	expect((await run(['env', 'add', 'here', url], env)).code).toBe(0);
	expect(readFileSync(join(root, 'home', 'environments.toml'), 'utf8')).toContain(`url = "${url}"`);
	expect((await run(['env', 'list'], env)).stdout).toContain(`here   ${url}\n`);
	expect(await run(['env', 'test', 'here', url], env)).toMatchObject({code: 0});
	expect(await run(['run', '-e', 'remote', '--', 'true'], {LONGARM_EXEC_SERVER_URL: url})).toMatchObject({code: 0});

	writeFileSync(join(root, 'source'), 'content');
	expect(await run(['cat', `${url}:${join(root, 'source')}`])).toMatchObject({code: 0, stdout: 'content'});
	expect((await run(['cp', join(root, 'source'), `${url}:${join(root, 'copy')}`])).code).toBe(0);
	expect(readFileSync(join(root, 'copy'), 'utf8')).toBe('content');

	server.child.kill('SIGTERM');
	expect(await server.ended).toEqual({code: 0, signal: null});
	expect(existsSync(path)).toBe(false);
});

test('a server that was killed leaves a socket that the next one replaces', async () => {
	const path = join(scratchDirectory(), 'x.sock');
	const first = new Command(['serve', '--listen', `unix:${path}`]);
	await first.url();
	const meanwhile = await run(['serve', '--listen', `unix:${path}`]);
	expect(meanwhile).toMatchObject({code: 2, stdout: ''});
	expect(meanwhile.stderr).toMatch('another server answers there already');
	first.child.kill('SIGKILL');
	await first.ended;
	expect(existsSync(path)).toBe(true);
	await new Command(['serve', '--listen', `unix:${path}`]).url();
	expect((await run(['run', '-e', `unix:${path}`, '--', 'true'])).code).toBe(0);
});

test('root without tokens is not warned where other users are refused', async () => {
	expect(await isWarned(`unix:${join(scratchDirectory(), 'x.sock')}`)).toBe(false);
	// Elsewhere a listener on loopback cannot tell which user connects.
	expect(await isWarned('ws://127.0.0.1:0')).toBe(isRoot && process.platform !== 'linux');
});

async function isWarned(address: string): Promise<boolean> {
	const server = new Command(['serve', '--listen', address]);
	await server.url();
	await server.logs('"listening"');
	server.child.kill('SIGTERM');
	await server.ended;
	return server.stderr.includes('this server runs as root and asks for no token');
}
