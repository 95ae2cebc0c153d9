import {existsSync, linkSync} from 'node:fs';
import {createServer} from 'node:net';
import {networkInterfaces} from 'node:os';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {expect, onTestFinished, test} from 'vitest';
import {connectUnixSocket} from '../../src/transports/node/connect-web-socket.js';
import {Command} from '../helpers/command.js';
import {describeEnforcers} from '../helpers/enforcers.js';
import {hasIpv6, NO_IPV6} from '../helpers/needs.js';
import {policy, root} from '../helpers/sandboxes.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {TestClient} from '../helpers/test-client.js';
import {clientWith, fileWith} from '../helpers/tokens.js';

const PROGRAM = fileURLToPath(new URL('../fixtures/become-client.py', import.meta.url));
const TOKEN = 'a token for tests';
const IN_SANDBOX = {sandbox: policy([root('read')], {network: 'enabled', cwd: 'file:///'})};

/** Output of the program, run by the server for one of its clients. */
async function attempt(
	client: TestClient,
	id: string,
	args: readonly string[],
	more: Record<string, unknown> = {},
): Promise<string> {
	await client.start(id, ['python3', PROGRAM, ...args], more);
	const {stdout, stderr} = await client.done(id);
	return (stdout + stderr).trim();
}

async function served(args: readonly string[]): Promise<{client: TestClient; url: string; port: string}> {
	const url = await new Command(['serve', ...args]).url();
	const near = url.replace('0.0.0.0', '127.0.0.1');
	const client = args.includes('--ws-auth')
		? await clientWith(near, TOKEN)
		: await (await TestClient.overWebSocket(near)).initialize();
	return {client, url, port: new URL(url).port};
}

const withToken = () => ['--ws-auth', 'capability-token', '--ws-token-file', fileWith(TOKEN)];

const GROUP = 'a sandboxed process becomes no client of its server';
describeEnforcers(
	GROUP,
	enforcer => {
		const listening = (address: string): string[] => ['--listen', address, '--sandbox-enforcer', enforcer];

		test.each(['plain', 'name', 'thread', 'orphan', 'exec', 'undumpable'])('by way of: %s', async way => {
			const {client, port} = await served(listening('ws://127.0.0.1:0'));
			expect(await attempt(client, 'free', ['plain', port, '-'])).toBe('101');
			expect(await attempt(client, 'held', [way, port, '-'], IN_SANDBOX)).toBe('403');
		});

		test('with a token, by hiding its descriptors from the server', async () => {
			const {client, port} = await served([...listening('ws://127.0.0.1:0'), ...withToken()]);
			expect(await attempt(client, 'free', ['undumpable', port, TOKEN])).toBe('101');
			expect(await attempt(client, 'held', ['undumpable', port, TOKEN], IN_SANDBOX)).toBe('403');
		});

		test('under any address of the machine', async ({skip}) => {
			const {client, port} = await served([...listening('ws://0.0.0.0:0'), ...withToken()]);
			const others = Object.values(networkInterfaces()).flatMap(all => all ?? []);
			const own = others.filter(({family, internal}) => family === 'IPv4' && !internal).map(({address}) => address);
			for (const address of ['127.0.0.1', '127.0.0.2', '0.0.0.0', ...own]) {
				expect(await attempt(client, `free ${address}`, ['plain', `${address},${port}`, TOKEN])).toBe('101');
				expect(await attempt(client, `held ${address}`, ['plain', `${address},${port}`, TOKEN], IN_SANDBOX)).toBe(
					'403',
				);
			}
			if (!hasIpv6()) skip(NO_IPV6);
			const mapped = `::ffff:127.0.0.1,${port}`;
			expect(await attempt(client, 'held mapped', ['plain', mapped, TOKEN], IN_SANDBOX)).toBe('403');
			const six = await served(listening('ws://[::1]:0'));
			expect(await attempt(six.client, 'free', ['plain', `::1,${six.port}`, '-'])).toBe('101');
			expect(await attempt(six.client, 'held', ['plain', `::1,${six.port}`, '-'], IN_SANDBOX)).toBe('403');
		});

		test('through another name of its socket', async () => {
			const path = join(scratchDirectory(), 'x.sock');
			await new Command(['serve', ...listening(`unix:${path}`)]).url();
			const other = join(dirname(path), 'other.sock');
			linkSync(path, other);
			const client = await new TestClient(await connectUnixSocket(path)).initialize();
			expect(await attempt(client, 'free', ['plain', other, '-'])).toBe('101');
			for (const way of ['plain', 'orphan', 'exec']) {
				expect(await attempt(client, way, [way, other, '-'], IN_SANDBOX)).toBe('403');
			}
		});

		test('after its end, by a connection that it left in the queue of a socket', async () => {
			const command = new Command(['serve', ...listening('ws://127.0.0.1:0'), '--log-level', 'info']);
			const url = await command.url();
			const client = await (await TestClient.overWebSocket(url)).initialize();
			const directory = scratchDirectory();
			const [mark, queue] = [join(directory, 'mark'), join(directory, 'queue')];
			// Accepts, and never reads.
			const holder = createServer({pauseOnConnect: true}, () => {});
			onTestFinished(() => void holder.close());
			await new Promise<void>(resolve => void holder.listen(queue, resolve));
			const {port} = new URL(url);
			expect(await attempt(client, 'held', ['leave', port, '-', mark, queue], IN_SANDBOX)).toBe('left');
			await command.logs('"msg":"not let in"');
			expect(existsSync(mark)).toBe(false);
		});
	},
	{programs: ['python3']},
);
