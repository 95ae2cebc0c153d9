import {expect, test} from 'vitest';
import {StdioTransport} from '../../src/transports/node/stdio.js';
import {Command, type Ended} from '../helpers/command.js';
import {pidOf} from '../helpers/process-api.js';
import {isAlive, untilDead} from '../helpers/processes.js';
import {RawPeer} from '../helpers/raw-peer.js';
import {TestClient} from '../helpers/test-client.js';

const STUBBORN = `trap '' TERM INT HUP; echo $$; while :; do sleep 1000; done`;
const WELL: Ended = {code: 0, signal: null};
const HELLO = '{"id":1,"method":"initialize","params":{"clientName":"c"}}\n{"method":"initialized"}\n';

function serveStdio(...args: string[]): {command: Command; transport: StdioTransport} {
	const command = new Command(['serve', '--listen', 'stdio', '--log-level', 'warn', ...args], {ownStdout: true});
	return {command, transport: new StdioTransport(command.child.stdout, command.child.stdin)};
}

async function joined(...args: string[]): Promise<{command: Command; client: TestClient}> {
	const {command, transport} = serveStdio(...args);
	return {command, client: await new TestClient(transport).initialize()};
}

test.each(['stdio', 'stdio://'])(
	'--listen %s serves the protocol on stdin and stdout, and nothing else',
	async address => {
		const {command, client} = await joined('--listen', address);
		await client.sh('p', 'echo "{not json"; echo err >&2; exit 3');
		expect(await client.done('p')).toEqual({exitCode: 3, stdout: '{not json\n', stderr: 'err\n', pty: ''});
		command.child.stdin.end();
		expect(await command.ended).toEqual(WELL);
		expect(command.stderr).toBe('');
	},
);

test('the end of input ends every process and then the server, also with a long poll pending', async () => {
	const {command, client} = await joined('--shutdown-grace', '10ms');
	await client.sh('stubborn', STUBBORN);
	await client.sh('terminal', STUBBORN, {tty: true});
	const pids = [await pidOf(client, 'stubborn'), await pidOf(client, 'terminal')];
	const poll = client.call('process/read', {processId: 'stubborn', afterSeq: 9, waitMs: 1_000_000}).catch(() => 'gone');
	await client.call('environment/status');
	command.child.stdin.end();
	expect(await command.ended).toEqual(WELL);
	expect(pids.filter(isAlive)).toEqual([]);
	expect(await poll).toBe('gone');
});

test('what was asked before the end of input is answered, however slowly the answers are read', async () => {
	const command = new Command(['serve', '--listen', 'stdio', '--log-level', 'warn'], {ownStdout: true});
	const requests = Array.from({length: 20_000}, (_, index) => `{"id":${index + 2},"method":"environment/status"}\n`);
	await new Promise<void>(resolve => command.child.stdin.end(HELLO + requests.join(''), () => resolve()));
	let text = '';
	for await (const data of command.child.stdout.setEncoding('utf8')) text += data as string;
	const ids = text
		.trim()
		.split('\n')
		.map(line => (JSON.parse(line) as {id: number}).id);
	expect(ids).toEqual(Array.from({length: 20_001}, (_, index) => index + 1));
	expect(await command.ended).toEqual(WELL);
});

test('what is not JSON is answered, and so is what stands behind it', async () => {
	const {command, transport} = serveStdio();
	const peer = new RawPeer(transport);
	peer.send('garbage');
	expect(await peer.next()).toEqual({
		id: -1,
		error: {
			code: -32600,
			message: expect.stringMatching(/^failed to parse JSON-RPC message from exec-server stdio: \S/) as string,
		},
	});
	command.child.stdin.write(`\n  \r\n${HELLO}`);
	expect(await peer.next()).toMatchObject({id: 1, result: {}});
	expect(await peer.ask({id: 2, method: 'environment/status'})).toEqual({id: 2, result: {status: 'ready'}});
});

test.each([
	['an unknown notification', '{"method":"no/such"}\n'],
	['a reply nobody asked for', '{"id":7,"result":null}\n'],
	['bytes that are not UTF-8', Buffer.from([0x22, 0xff, 0x22, 0x0a])],
])('%s ends the server although its input stays open', async (_, input) => {
	const {command, client} = await joined('--shutdown-grace', '10ms');
	await client.sh('p', STUBBORN);
	const pid = await pidOf(client, 'p');
	command.child.stdin.write(input);
	expect(await command.ended).toEqual(WELL);
	expect(isAlive(pid)).toBe(false);
});

test.each<NodeJS.Signals>(['SIGTERM', 'SIGINT'])('%s ends the server although its input stays open', async signal => {
	const {command, client} = await joined('--shutdown-grace', '10ms');
	await client.sh('p', STUBBORN);
	const pid = await pidOf(client, 'p');
	command.child.kill(signal);
	expect(await command.ended).toEqual(WELL);
	expect(isAlive(pid)).toBe(false);
});

test('after SIGTERM all last words are delivered', async () => {
	const {command, client} = await joined('--shutdown-grace', '1h');
	await client.sh('p', `trap 'head -c 2000000 /dev/zero; exit 9' TERM; echo ready; read line`, {pipeStdin: true});
	await client.shows('p', 'ready');
	command.child.kill('SIGTERM');
	const {exitCode, stdout} = await client.done('p');
	expect([exitCode, stdout.length]).toEqual([9, 2_000_006]);
	expect(await command.ended).toEqual(WELL);
});

test('a reader that leaves ends the server', async () => {
	const {command, client} = await joined();
	await client.sh('p', 'echo $$; exec cat /dev/zero');
	await client.shows('p', '\n');
	const pid = Number.parseInt(client.output('p').toString(), 10);
	command.child.stdout.destroy();
	expect(await command.ended).toEqual(WELL);
	await untilDead(pid);
});

test('a reader that does not read makes the child wait and does not keep the server from ending', async () => {
	const {command, client} = await joined('--shutdown-grace', '10ms');
	await client.sh('p', 'echo $$; exec cat /dev/zero');
	await client.shows('p', '\n');
	const pid = Number.parseInt(client.output('p').toString(), 10);
	command.child.stdout.pause();
	command.child.kill('SIGTERM');
	expect(await command.ended).toEqual(WELL);
	expect(isAlive(pid)).toBe(false);
});
