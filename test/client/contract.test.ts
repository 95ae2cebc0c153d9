import {spawn} from 'node:child_process';
import {describe, expect, onTestFinished, test} from 'vitest';
import type {Observed} from '../../src/client/event-log.js';
import {type ProcessHandle, ProcessLostError} from '../../src/client/process-handle.js';
import {type Connect, SessionClient, type SessionClientOptions} from '../../src/client/session-client.js';
import {DisconnectedError} from '../../src/rpc/connection.js';
import {memoryTransportPair} from '../../src/transports/memory.js';
import {connectCommand} from '../../src/transports/node/connect-command.js';
import {connectWebSocket} from '../../src/transports/node/connect-web-socket.js';
import type {Transport} from '../../src/transports/transport.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {execServer, serving} from '../helpers/serving.js';
import {sh} from '../helpers/start-params.js';

/** The built command. */
const COMMAND = new URL('../../dist/bin/longarm.js', import.meta.url).pathname;

/** Each makes a server and says how to get to it. */
const LINKS: Record<string, () => Promise<Connect>> = {
	memory: async () => {
		const server = execServer();
		return async () => {
			const [near, far] = memoryTransportPair();
			server.accept(far);
			return near;
		};
	},
	stdio: async () => async () => {
		const transport = await connectCommand(process.execPath, {args: [COMMAND, 'serve', '--listen', 'stdio']});
		onTestFinished(() => transport.destroy());
		return transport;
	},
	WebSocket: async () => {
		const {url} = await serving();
		return signal => connectWebSocket(url, {...(signal && {signal})});
	},
};

/** The peer's own server, where `CODEX_BIN` says where it is. */
const codex = process.env['CODEX_BIN'];
if (codex) LINKS['WebSocket to the stock codex server'] = () => stock(codex);

async function stock(program: string): Promise<Connect> {
	const home = scratchDirectory();
	const child = spawn(program, ['exec-server', '--listen', 'ws://127.0.0.1:0'], {
		env: {...process.env, CODEX_HOME: home},
	});
	onTestFinished(() => void child.kill('SIGKILL'));
	const url = await new Promise<string>(resolve => {
		child.stdout.on('data', (data: Buffer) => resolve(String(data).trim()));
	});
	return signal => connectWebSocket(url, {...(signal && {signal})});
}

async function outcome(remote: ProcessHandle): Promise<{kinds: string[]; text: string}> {
	const seen: Observed[] = [];
	for await (const event of remote.events()) seen.push(event);
	const text = Buffer.concat(seen.flatMap(event => (event.kind === 'output' ? [event.bytes] : []))).toString();
	return {kinds: seen.map(({kind}) => kind), text};
}

describe.each(Object.entries(LINKS))('over %s', (_name, link) => {
	async function connected(
		options: SessionClientOptions = {},
	): Promise<{client: SessionClient; transports: Transport[]}> {
		const transports: Transport[] = [];
		const connect = await link();
		const client = await SessionClient.open(async signal => {
			const transport = await connect(signal);
			transports.push(transport);
			return transport;
		}, options);
		onTestFinished(async () => {
			client.close();
			await client.ended;
		});
		return {client, transports};
	}

	test('a process starts, speaks, exits and closes, in this order', async () => {
		const {client} = await connected();
		const {process: remote, sandboxType} = await client.start(sh('p', 'echo hello; exit 3'));
		expect(sandboxType).toBe('none');
		expect(await remote.exited).toEqual({exitCode: 3, sandboxDenied: false, reason: undefined});
		await remote.closed;
		const {kinds, text} = await outcome(remote);
		expect([text, kinds.filter(kind => kind !== 'output')]).toEqual(['hello\n', ['exited', 'closed']]);
		expect(remote.wake).toBe(kinds.length);
	});

	test('events are there for those who subscribe late, and the same for all', async () => {
		const {client} = await connected();
		const {process: remote} = await client.start(sh('p', 'echo one; echo two >&2'));
		const early = outcome(remote);
		await remote.closed;
		expect(await outcome(remote)).toEqual(await early);
	});

	test('what is written arrives once and in order, small or large, and the end of input is told', async ({skip}) => {
		const {client} = await connected();
		if (!client.capabilities['processCloseStdin']) skip('the server cannot close an input');
		const {process: remote} = await client.start(sh('p', 'cat | sha256sum', {pipeStdin: true}));
		const content = Buffer.alloc(3_000_000, 'longarm ');
		for (let offset = 0; offset < content.length; offset += 500_000) {
			expect(await remote.write(content.subarray(offset, offset + 500_000))).toEqual({status: 'accepted'});
		}
		await remote.write('the end\n');
		await remote.closeStdin();
		const {createHash} = await import('node:crypto');
		const expected = createHash('sha256').update(content).update('the end\n').digest('hex');
		expect((await outcome(remote)).text).toBe(`${expected}  -\n`);
	});

	test('input to a process without one is rejected as a status', async () => {
		const {client} = await connected();
		const {process: remote} = await client.start(sh('p', 'sleep 1000'));
		expect(await remote.write('x')).toEqual({status: 'stdinClosed'});
		expect(await remote.terminate()).toMatchObject({running: true});
		await remote.closed;
	});

	test('a terminal has a size and can be typed on', async ({skip}) => {
		const {client} = await connected();
		if (!client.capabilities['processResize']) skip('the server cannot resize a terminal');
		const {process: remote} = await client.start(sh('p', 'stty size; read x; stty size', {tty: true}));
		await remote.woken(0);
		await remote.resize({rows: 40, cols: 100});
		await remote.write('\n');
		const {text} = await outcome(remote);
		expect(text).toMatch(/^24 80\r\n[^]*40 100\r\n$/);
	});

	test('output can be read from the server by cursor, waited for, and is all there', async () => {
		const {client} = await connected();
		const {process: remote} = await client.start(sh('p', 'for i in 1 2 3; do echo $i; sleep 0.01; done'));
		let [text, afterSeq, isClosed] = ['', 0, false];
		while (!isClosed) {
			const page = await remote.read({afterSeq, waitMs: 1000});
			text += page.chunks.map(({chunk}) => Buffer.from(chunk).toString()).join('');
			afterSeq = page.nextSeq - 1;
			isClosed = page.closed;
		}
		expect(text).toBe('1\n2\n3\n');
	});

	test('a signal reaches the process', async ({skip}) => {
		const {client} = await connected();
		if (!client.capabilities['processSignalByName']) skip('the server knows one signal only');
		const {process: remote} = await client.start(sh('p', 'exec sleep 1000'));
		await remote.signal({name: 'USR1'});
		expect(await remote.exited).toMatchObject({exitCode: 138});
	});

	test('an id in use is refused here, and a start the server refuses leaves nothing', async () => {
		const {client} = await connected();
		const {process: remote} = await client.start(sh('p', 'sleep 1000'));
		await expect(client.start(sh('p', 'true'))).rejects.toThrow('session already registered for process p');
		await expect(client.start({...sh('q', ''), argv: ['/no/such/program']})).rejects.toThrow('os error 2');
		expect((await client.start(sh('q', 'true'))).process.processId).toBe('q');
		await remote.terminate();
	});

	test('a quiet process is not held up by a noisy one', async () => {
		const {client} = await connected();
		const {process: noisy} = await client.start(sh('noisy', 'cat /dev/zero'));
		const {process: quiet} = await client.start(sh('quiet', 'read x; echo $x', {pipeStdin: true}));
		await quiet.write('still here\n');
		expect((await outcome(quiet)).text).toBe('still here\n');
		await noisy.terminate();
	});

	test('when the link breaks processes fail with the reason, reads say so, and all else fails', async () => {
		const {client, transports} = await connected({recovers: false});
		const {process: remote} = await client.start(sh('p', 'sleep 1000'));
		const pending = remote.read({waitMs: 60_000});
		const events = outcome(remote);
		transports[0]!.destroy();
		const lost = 'exec-server transport disconnected';
		const closedResult = {
			exited: true,
			exitCode: null,
			closed: true,
			chunks: [],
			failure: expect.stringContaining(lost) as string,
		};
		expect([await pending, await remote.read()]).toMatchObject([closedResult, closedResult]);
		expect((await events).kinds).toEqual(['failed']);
		await expect(remote.exited).rejects.toThrow(ProcessLostError);
		await expect(remote.closed).rejects.toThrow(lost);
		for (const call of [remote.write('x'), remote.terminate(), client.start(sh('q', 'true'))]) {
			await expect(call).rejects.toThrow(DisconnectedError);
		}
		expect((await client.ended).message).toContain(lost);
	});

	test('leaving the scope of a process ends it', async () => {
		const {client} = await connected();
		let held: ProcessHandle;
		{
			await using remote = (await client.start(sh('p', 'sleep 1000'))).process;
			held = remote;
		}
		expect(await held.exited).toMatchObject({exitCode: 137});
	});
});
