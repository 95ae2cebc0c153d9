// covers: src/server/confined-peers.ts src/server/local-admission.ts src/processes/tree/confinement.ts
import {createServer} from 'node:http';
import type {AddressInfo} from 'node:net';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {expect, onTestFinished, test} from 'vitest';
import {CONTROL_SOCKET} from '../../src/hub/control-socket.js';
import {Command} from '../helpers/command.js';
import {describeEnforcers} from '../helpers/enforcers.js';
import {runningHub} from '../helpers/hubs.js';
import {policy, root} from '../helpers/sandboxes.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {serving} from '../helpers/serving.js';
import {TestClient} from '../helpers/test-client.js';
import {fileWith} from '../helpers/tokens.js';

const PROGRAM = fileURLToPath(new URL('../fixtures/become-client.py', import.meta.url));
const TOKEN = 'a token for tests';
const IN_SANDBOX = {sandbox: policy([root('read')], {network: 'enabled', cwd: 'file:///'})};
const WAYS = ['plain', 'orphan', 'exec', 'undumpable'];

describeEnforcers(
	'a process in a sandbox of one longarm program uses no other one',
	enforcer => {
		/** Asks a place as a program without and with a sandbox; the statuses of the answers. */
		async function ask(place: string, ways = WAYS, token = '-'): Promise<[string, string[]]> {
			const sandboxer = new Command(['serve', '--listen', 'ws://127.0.0.1:0', '--sandbox-enforcer', enforcer]);
			const client = await (await TestClient.overWebSocket(await sandboxer.url())).initialize();
			const status = async (id: string, way: string, more: object): Promise<string> => {
				await client.start(id, ['python3', PROGRAM, way, place, token], {...more});
				const {stdout, stderr} = await client.done(id);
				return (stdout + stderr).trim();
			};
			const free = await status('free', 'plain', {});
			const held: string[] = [];
			for (const way of ways) held.push(await status(`held ${way}`, way, IN_SANDBOX));
			return [free, held];
		}

		test('by its port', async () => {
			const url = await new Command(['serve', '--listen', 'ws://127.0.0.1:0']).url();
			expect(await ask(new URL(url).port)).toEqual(['101', WAYS.map(() => '403')]);
		});

		test('by its socket', async () => {
			const path = join(scratchDirectory(), 'x.sock');
			await new Command(['serve', '--listen', `unix:${path}`]).url();
			expect(await ask(path, ['plain', 'orphan', 'exec'])).toEqual(['101', ['403', '403', '403']]);
		});

		test.each([
			['without a token', []],
			['with the token of its owner', ['--token-file']],
		])('by the HTTP port of its MCP server, %s', async (_name, [option]) => {
			const {url} = await serving({});
			const token = option === undefined ? [] : [option, fileWith(TOKEN)];
			const mcp = await new Command(['mcp', '-e', url, '--http', '127.0.0.1:0', ...token]).url();
			// There is nothing at this path, which is told to those who are let in.
			const found = await ask(new URL(mcp).port, ['plain', 'undumpable'], option === undefined ? '-' : TOKEN);
			expect(found).toEqual(['404', ['403', '403']]);
		});

		test('by a port that it forwards', async () => {
			const origin = createServer((_request, response) => void response.end('hi'));
			origin.on('upgrade', (_request, socket) => void socket.end('HTTP/1.1 200 OK\r\n\r\n'));
			await new Promise<void>(resolve => void origin.listen(0, '127.0.0.1', resolve));
			onTestFinished(() => void origin.close());
			const {url} = await serving({allowForward: 'loopback'});
			const {port} = origin.address() as AddressInfo;
			const line = await new Command(['forward', '-e', url, `0:127.0.0.1:${port}`]).url();
			const [free, [held]] = await ask(/:(\d+) ->/.exec(line)![1]!, ['plain']);
			expect(free).toBe('200');
			expect(held).toMatch(/reset|IndexError/i);
		});

		test('by its web console', async () => {
			const {url} = await serving({});
			const page = await new Command(['console', '-e', url]).url();
			expect(await ask(new URL(page).port, ['plain'])).toEqual(['101', ['403']]);
		});

		test('by the control socket of its hub', async () => {
			const {data} = await runningHub();
			expect(await ask(join(data, CONTROL_SOCKET), ['plain'])).toEqual(['404', ['403']]);
		});
	},
	{programs: ['python3']},
);
