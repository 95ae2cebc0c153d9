// covers: src/hub, src/transports/node/relay
import {existsSync} from 'node:fs';
import {join} from 'node:path';
import {expect, onTestFinished, test} from 'vitest';
import {Environment} from '../../src/environments/environment.js';
import {createLineLogger} from '../../src/shared/node/line-logger.js';
import {environmentVia, type RunningHub, runningHub} from '../helpers/hubs.js';
import {unless} from '../helpers/needs.js';
import {eventually} from '../helpers/processes.js';
import {noSandbox} from '../helpers/sandboxes.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {startUpstreamExecutor} from '../helpers/transports.js';
import {origin} from '../network/origin.js';

const CODEX = process.env['CODEX_BIN'];
const NO_PEER = CODEX === undefined ? 'the stock peer is installed by npm run test:interop' : undefined;
const NEEDS_PEER = unless(NO_PEER);

/** A hub with the stock executor `devbox`, when that is online; ended with the test. */
async function hubWithStockExecutor(options: Parameters<typeof runningHub>[0] = {}): Promise<RunningHub> {
	const hub = await runningHub(options);
	await startUpstreamExecutor(CODEX!, hub, 'devbox');
	return hub;
}

test('a stock executor is reached through the hub: commands, files and a terminal', NEEDS_PEER, async () => {
	const box = environmentVia(await hubWithStockExecutor(), 'devbox');
	const {stdout, exitCode} = await box.shell('seq 1 5000; exit 3', {reject: false});
	expect([stdout.text.split('\n').length, exitCode]).toEqual([5001, 3]);
	// Stock servers give every terminal the same size.
	const terminal = await box.run(['sh', '-c', 'stty size'], {tty: {rows: 30, cols: 90}});
	expect(terminal.stdout.text).toContain('24 80');
	const content = Buffer.alloc(1024 * 1024, 'longarm ');
	const path = join(scratchDirectory(), 'file');
	await box.files.writeFile(path, content);
	expect(Buffer.from(await box.files.readFile(path)).equals(content)).toBe(true);
	await box.files.remove(path);
});

test('a stock executor behind the hub makes HTTP requests for its client', NEEDS_PEER, async () => {
	const box = environmentVia(await hubWithStockExecutor(), 'devbox');
	const {url, seen} = await origin((_request, response) => response.end('x'.repeat(300_000)));
	const response = await box.fetch(new URL('/path?q', url), {method: 'POST', body: 'sent', headers: {'x-mine': 'yes'}});
	expect([response.status, (await response.text()).length]).toEqual([200, 300_000]);
	expect(seen[0]).toMatchObject({method: 'POST', url: '/path?q', body: 'sent', headers: {'x-mine': 'yes'}});
});

test(
	'a stock executor behind the hub starts commands in its sandbox',
	unless(NO_PEER ?? noSandbox('bubblewrap')),
	async () => {
		const box = environmentVia(await hubWithStockExecutor(), 'devbox');
		const [cwd, outside] = [scratchDirectory(), join('/var/tmp', `longarm-hub-${process.pid}`)];
		const script = `echo in > inside; echo out > ${outside}; cat inside`;
		const {stdout, stderr} = await box.shell(script, {cwd, sandbox: 'workspace-write', reject: false});
		expect([stdout.text, stderr.text, existsSync(outside)]).toEqual(['in\n', expect.stringContaining(outside), false]);
	},
);

test('a stock executor is reached by a plain client through the gateway', NEEDS_PEER, async () => {
	const hub = await hubWithStockExecutor({hasGateway: true});
	const url = `${hub.url.replace('http', 'ws')}/environments/devbox`;
	const box = Environment.remote('devbox', {kind: 'websocket', url, token: hub.clientToken});
	onTestFinished(() => box.close());
	const {stdout, exitCode} = await box.shell('seq 1 5000; exit 3', {reject: false});
	expect([stdout.text.split('\n').length, exitCode]).toEqual([5001, 3]);
});

test('a stock executor comes back after a cut and a restart of the hub without registering', NEEDS_PEER, async () => {
	const lines: string[] = [];
	const logger = createLineLogger({level: 'info', format: 'json', write: line => lines.push(line)});
	const first = await hubWithStockExecutor({logger});
	const before = first.hub.relay.findExecutor('devbox')!;
	before.socket.destroy(new Error('cut'));
	const isBack = (): boolean => ![undefined, before].includes(first.hub.relay.findExecutor('devbox'));
	await eventually(isBack);
	expect((await environmentVia(first, 'devbox').shell('echo back')).stdout.text).toBe('back\n');
	const port = Number(new URL(first.url).port);
	await first.hub.close();
	const second = await runningHub({data: first.data, port, logger});
	await eventually(() => second.hub.relay.findExecutor('devbox') !== undefined);
	expect((await environmentVia(second, 'devbox').shell('echo again')).stdout.text).toBe('again\n');
	expect(lines.filter(line => line.includes('executor registered')).length).toBe(1);
});
