import {spawn} from 'node:child_process';
import {createHash} from 'node:crypto';
import {once} from 'node:events';
import {writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {describe, expect, onTestFinished, test} from 'vitest';
import {describeEnvironment} from '../../src/adapters/environment-info.js';
import type {StreamEvent} from '../../src/client/process/process-handle.js';
import {type Processes, type ProcessHandle, ProcessLostError} from '../../src/client/process/process-handle.js';
import {writeInput} from '../../src/client/run/write-input.js';
import {SessionClient, type SessionClientOptions} from '../../src/client/session/session-client.js';
import {LocalProcesses} from '../../src/environments/local/local-processes.js';
import {DisconnectedError} from '../../src/rpc/disconnected-error.js';
import type {Transport} from '../../src/transports/transport.js';
import {eventually} from '../helpers/processes.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {shuffleNotifications} from '../helpers/shuffled.js';
import {sh} from '../helpers/start-params.js';
import {TRANSPORTS} from '../helpers/transports.js';

interface ProcessApi {
	readonly processes: Processes;
	readonly can: Readonly<Record<string, boolean>>;
	/** Empty where there is no wire. */
	readonly transports: Transport[];
}

interface ProcessApiOptions extends SessionClientOptions {
	readonly through?: (transport: Transport) => Transport;
}

const PROCESS_APIS: Record<string, (options: ProcessApiOptions) => Promise<ProcessApi>> = {
	'this machine': async () => {
		const processes = new LocalProcesses();
		onTestFinished(() => processes.close());
		return {processes, can: describeEnvironment(process.env).capabilities!, transports: []};
	},
};
for (const [name, link] of Object.entries(TRANSPORTS)) {
	PROCESS_APIS[name] = async ({through = same, ...options}) => {
		const transports: Transport[] = [];
		const connect = await link();
		const client = await SessionClient.open(async signal => {
			const transport = through(await connect(signal));
			transports.push(transport);
			return transport;
		}, options);
		onTestFinished(async () => {
			client.close();
			await client.ended;
		});
		return {processes: client, can: client.capabilities, transports};
	};
}

function same<T>(value: T): T {
	return value;
}

async function observed(handle: ProcessHandle): Promise<StreamEvent[]> {
	const seen: StreamEvent[] = [];
	for await (const event of handle.events()) seen.push(event);
	return seen;
}

async function outcome(handle: ProcessHandle): Promise<{kinds: string[]; text: string}> {
	const seen = await observed(handle);
	const text = Buffer.concat(seen.flatMap(event => (event.kind === 'output' ? [event.bytes] : []))).toString();
	return {kinds: seen.map(({kind}) => kind), text};
}

/** Until nothing more is heard of a process while another one does its work, because it waits or because it is over. */
async function untilNothingHappens(handle: ProcessHandle): Promise<void> {
	for (let seen = -1; !handle.isOver && handle.lastSeq !== seen; ) {
		seen = handle.lastSeq;
		await once(spawn('seq', ['1', '1000000'], {stdio: 'ignore'}), 'exit');
	}
}

async function heard(handle: ProcessHandle, text: string): Promise<void> {
	let said = '';
	for await (const piece of handle.output()) {
		if (piece.kind === 'output') said += Buffer.from(piece.bytes).toString();
		if (said.includes(text)) return;
	}
	throw new Error(`never said ${text}: ${said}`);
}

describe.each(Object.entries(PROCESS_APIS))('on %s', (_name, place) => {
	const at = (options: ProcessApiOptions = {}): Promise<ProcessApi> => place(options);

	test('a process starts, speaks and exits with its code', async () => {
		const {processes, can} = await at();
		const {process: handle, sandboxType} = await processes.start(sh('p', 'echo hello; exit 3'));
		expect(sandboxType).toBe('none');
		// Upstream's server does not tell the reason.
		const reason = can['processWait'] ? 'exit' : undefined;
		expect(await handle.exited).toEqual({exitCode: 3, sandboxDenied: false, reason});
		await handle.closed;
		expect((await outcome(handle)).text).toBe('hello\n');
	});

	test('the two streams are kept apart', async () => {
		const {processes} = await at();
		const {process: handle} = await processes.start(sh('p', 'echo out; echo err >&2'));
		const said = {stdout: '', stderr: '', pty: ''};
		for await (const piece of handle.output()) {
			if (piece.kind === 'output') said[piece.stream] += Buffer.from(piece.bytes).toString();
		}
		expect(said).toEqual({stdout: 'out\n', stderr: 'err\n', pty: ''});
	});

	test('events are pushed with numbers from 1 without a gap, one exit among them and the close last', async () => {
		const {processes} = await at();
		const {process: handle} = await processes.start(sh('p', 'echo one; sleep 0.05; echo two; exit 4'));
		const events = await observed(handle);
		expect(events.map(event => ('seq' in event ? event.seq : undefined))).toEqual(events.map((_, index) => index + 1));
		const kinds = events.map(({kind}) => kind);
		// Output may still follow an exit.
		expect([kinds.at(-1), kinds.filter(kind => kind === 'exited').length]).toEqual(['closed', 1]);
		expect(handle.lastSeq).toBe(events.length);
	});

	test('everything is told again to those who subscribe after the close', async () => {
		const {processes} = await at();
		const {process: handle} = await processes.start(sh('p', 'echo one; echo two >&2'));
		const early = outcome(handle);
		await handle.closed;
		expect(await outcome(handle)).toEqual(await early);
	});

	test('what happened before anybody subscribed is waiting', async () => {
		const {processes} = await at();
		const {process: handle} = await processes.start(sh('p', 'echo early; read x; echo $x', {pipeStdin: true}));
		await handle.waitForSeq(0);
		const all = outcome(handle);
		await handle.write('later\n');
		expect((await all).text).toBe('early\nlater\n');
	});

	test('what is written to a pipe arrives once and in order, and its end is told', async ({skip}) => {
		const {processes, can} = await at();
		if (!can['processCloseStdin']) skip('the server cannot close an input');
		const {process: handle} = await processes.start(sh('p', 'cat | sha256sum', {pipeStdin: true}));
		const content = Buffer.alloc(3_000_000, 'longarm ');
		for (let offset = 0; offset < content.length; offset += 500_000) {
			expect(await handle.write(content.subarray(offset, offset + 500_000))).toEqual({status: 'accepted'});
		}
		await handle.write('the end\n');
		await handle.closeStdin();
		const expected = createHash('sha256').update(content).update('the end\n').digest('hex');
		expect((await outcome(handle)).text).toBe(`${expected}  -\n`);
	});

	test('what is typed on a terminal is read there', async () => {
		const {processes} = await at();
		const {process: handle} = await processes.start(
			sh('p', 'stty -echo; echo ready; read x; echo got $x', {tty: true}),
		);
		await heard(handle, 'ready');
		await handle.write('typed\n');
		expect((await outcome(handle)).text).toMatch(/ready\r\ngot typed\r\n$/);
	});

	test('a terminal has a size that can be changed', async ({skip}) => {
		const {processes, can} = await at();
		if (!can['processResize']) skip('the server cannot resize a terminal');
		const {process: handle} = await processes.start(sh('p', 'stty size; read x; stty size', {tty: true}));
		await heard(handle, '24 80');
		await handle.resize({rows: 40, cols: 100});
		await handle.write('\n');
		expect((await outcome(handle)).text).toMatch(/40 100\r\n$/);
	});

	test('input to a process without one is rejected', async () => {
		const {processes} = await at();
		const {process: handle} = await processes.start(sh('p', 'sleep 1000'));
		await expect(handle.write('x')).rejects.toMatchObject({code: 'STDIN_CLOSED', context: {refusal: 'noStdin'}});
		await expect(writeInput(handle, 'x')).rejects.toThrow('it has no standard input');
		expect(await handle.terminate()).toMatchObject({running: true});
		await handle.closed;
	});

	test.each([{pipeStdin: true}, {tty: true}])('input to a process that has exited is rejected: %j', async io => {
		const {processes} = await at();
		const {process: handle} = await processes.start(sh('p', 'true', io));
		await handle.exited;
		await expect(handle.write('x')).rejects.toMatchObject({code: 'STDIN_CLOSED', context: {refusal: 'exited'}});
		await handle.closed;
		await expect(handle.write('')).rejects.toThrow('process p takes no input: it has exited');
		await handle.closeStdin().catch(() => {});
	});

	test('input to a process that has closed its own is rejected', async ({skip}) => {
		const {processes, can} = await at();
		if (!can['processTerminateMode']) skip('the server does not tell');
		const {process: handle} = await processes.start(
			sh('p', 'read x; exec <&-; echo closed; sleep 1000', {pipeStdin: true}),
		);
		expect(await handle.write('read\n')).toEqual({status: 'accepted'});
		await heard(handle, 'closed');
		await expect(handle.write('x')).rejects.toMatchObject({code: 'STDIN_CLOSED', context: {refusal: 'stdinClosed'}});
		await handle.closeStdin();
		await handle.closeStdin();
		await handle.terminate();
	});

	test('input behind the end of the input is rejected, and the end can be told twice', async ({skip}) => {
		const {processes, can} = await at();
		if (!can['processCloseStdin']) skip('the server cannot close an input');
		const {process: handle} = await processes.start(sh('p', 'cat; sleep 1000', {pipeStdin: true}));
		await handle.write('all of it\n');
		await handle.closeStdin();
		await handle.closeStdin();
		await expect(handle.write('x')).rejects.toMatchObject({code: 'STDIN_CLOSED'});
		await heard(handle, 'all of it');
		await handle.terminate();
	});

	test('output can be read by cursor, waited for, and is all there', async () => {
		const {processes} = await at();
		const {process: handle} = await processes.start(sh('p', 'for i in 1 2 3; do echo $i; sleep 0.01; done'));
		let [text, afterSeq, isClosed] = ['', 0, false];
		while (!isClosed) {
			const page = await handle.read({afterSeq, waitMs: 1000});
			text += page.chunks.map(({chunk}) => Buffer.from(chunk).toString()).join('');
			afterSeq = page.nextSeq - 1;
			isClosed = page.closed;
		}
		expect(text).toBe('1\n2\n3\n');
	});

	test('a signal reaches the process', async ({skip}) => {
		const {processes, can} = await at();
		if (!can['processSignalByName']) skip('the server knows one signal only');
		const {process: handle} = await processes.start(sh('p', 'exec sleep 1000'));
		await handle.signal({name: 'USR1'});
		expect(await handle.exited).toMatchObject({exitCode: 138, reason: 'signal'});
	});

	test('an interrupt reaches the process', async () => {
		const {processes} = await at();
		const {process: handle} = await processes.start(
			sh('p', 'trap "exit 7" INT; echo ready; while :; do sleep 0.01; done'),
		);
		await heard(handle, 'ready');
		await handle.signal('interrupt');
		expect(await handle.exited).toMatchObject({exitCode: 7});
	});

	test('an id in use is refused, and a start that fails leaves nothing', async () => {
		const {processes} = await at();
		const {process: handle} = await processes.start(sh('p', 'sleep 1000'));
		await expect(processes.start(sh('p', 'true'))).rejects.toThrow(
			/session already registered|process p already exists/,
		);
		const missing = {...sh('q', ''), argv: ['/no/such/program']};
		await expect(processes.start(missing)).rejects.toThrow(/exec-server rejected request \(-32603\): .*os error 2/);
		expect((await processes.start(sh('q', 'true'))).process.processId).toBe('q');
		await handle.terminate();
	});

	test('a quiet process is not held up by a noisy one', async () => {
		const {processes} = await at();
		const {process: noisy} = await processes.start(sh('noisy', 'cat /dev/zero'));
		const {process: quiet} = await processes.start(sh('quiet', 'read x; echo $x', {pipeStdin: true}));
		await quiet.write('still here\n');
		expect((await outcome(quiet)).text).toBe('still here\n');
		await noisy.terminate();
	});

	test('a process that is held back for its reader loses nothing, however slow the reader is', async () => {
		const {processes} = await at();
		const {process: handle} = await processes.start(sh('p', 'head -c 40000000 /dev/zero; echo the end'), {
			backpressure: true,
		});
		const kinds = new Set<string>();
		let last = '';
		let size = 0;
		for await (const event of handle.events()) {
			kinds.add(event.kind);
			if (kinds.size === 1 && size === 0) await untilNothingHappens(handle);
			if (event.kind !== 'output') continue;
			size += event.bytes.length;
			last = Buffer.from(event.bytes.subarray(-8)).toString();
		}
		expect([...kinds].sort()).toEqual(['closed', 'exited', 'output']);
		expect(size).toBe(40_000_008);
		expect(last).toBe('the end\n');
	});

	test('a reader of a held process that goes lets everything go on', async () => {
		const {processes} = await at();
		const {process: held} = await processes.start(sh('held', 'cat /dev/zero'), {backpressure: true});
		const events = held.events();
		await events.next();
		await events.return?.();
		const {process: other} = await processes.start(sh('other', 'echo heard'));
		expect((await outcome(other)).text).toBe('heard\n');
		await held.terminate();
		await held.closed;
	});

	test('input and output of a held process flow at once without either waiting for ever', async ({skip}) => {
		const {processes, can} = await at();
		if (!can['processCloseStdin']) skip('the server cannot close an input');
		const {process: handle} = await processes.start(sh('p', 'cat', {pipeStdin: true}), {backpressure: true});
		const piece = Buffer.alloc(256 * 1024, 'longarm ');
		const feeding = writeInput(
			handle,
			Array.from({length: 128}, () => piece),
			{maxPendingWrites: 4},
		);
		const hash = createHash('sha256');
		for await (const output of handle.output()) {
			await new Promise(resolve => setImmediate(resolve));
			if (output.kind === 'output') hash.update(output.bytes);
		}
		await feeding;
		const expected = createHash('sha256');
		for (let count = 0; count < 128; count++) expected.update(piece);
		expect(hash.digest('hex')).toBe(expected.digest('hex'));
	});

	test('the close is held back until the last one who holds the streams is gone', async () => {
		const {processes} = await at();
		const go = join(scratchDirectory(), 'go');
		const script = `(until [ -e ${go} ]; do sleep 0.01; done; echo late) & echo early; exit 5`;
		const {process: handle} = await processes.start(sh('p', script));
		expect(await handle.exited).toMatchObject({exitCode: 5});
		expect(handle.isOver).toBe(false);
		writeFileSync(go, '');
		await handle.closed;
		const {kinds, text} = await outcome(handle);
		const isLate = kinds.indexOf('exited') < kinds.lastIndexOf('output');
		expect([text, isLate, kinds.at(-1)]).toEqual(['early\nlate\n', true, 'closed']);
	});

	test('notifications that arrive in another order are put in theirs', async ({skip}) => {
		const {processes, transports} = await at({through: shuffleNotifications});
		if (transports.length === 0) skip('there is no wire');
		const {process: handle} = await processes.start(
			sh('p', 'for i in 1 2 3 4 5 6; do echo $i; sleep 0.01; done; exit 9'),
		);
		const events = await observed(handle);
		expect(events.map(event => ('seq' in event ? event.seq : undefined))).toEqual(events.map((_, index) => index + 1));
		expect((await outcome(handle)).text).toBe('1\n2\n3\n4\n5\n6\n');
		expect(await handle.exited).toMatchObject({exitCode: 9});
	});

	test('a process ends with the signal it was started under, and is not started under one that is over', async () => {
		const {processes} = await at();
		const controller = new AbortController();
		const {process: handle} = await processes.start(sh('p', 'sleep 1000'), {signal: controller.signal});
		controller.abort();
		expect(await handle.exited).toMatchObject({exitCode: 137});
		const {signal} = controller;
		await expect(processes.start(sh('q', 'true'), {signal})).rejects.toThrow('aborted');
		expect((await processes.start(sh('q', 'true'))).process.processId).toBe('q');
	});

	test('when the link breaks processes fail with the reason, reads say so, and all else fails', async ({skip}) => {
		const {processes, transports} = await at({recovers: false});
		if (transports.length === 0) skip('there is no wire');
		const {process: handle} = await processes.start(sh('p', 'sleep 1000', {pipeStdin: true}));
		const pending = handle.read({waitMs: 60_000});
		const events = outcome(handle);
		transports[0]!.destroy();
		const lost = 'exec-server transport disconnected';
		const failure = expect.stringContaining(lost) as string;
		const closedResult = {exited: true, exitCode: null, closed: true, chunks: [], failure};
		expect([await pending, await handle.read()]).toMatchObject([closedResult, closedResult]);
		expect((await events).kinds).toEqual(['failed']);
		await expect(handle.exited).rejects.toThrow(ProcessLostError);
		await expect(handle.closed).rejects.toThrow(lost);
		for (const call of [handle.write('x'), handle.terminate(), processes.start(sh('q', 'true'))]) {
			await expect(call).rejects.toThrow(DisconnectedError);
		}
	});

	test('leaving the scope of a process ends it', async () => {
		const {processes} = await at();
		let held: ProcessHandle;
		{
			await using handle = (await processes.start(sh('p', 'sleep 1000'))).process;
			held = handle;
		}
		expect(await held.exited).toMatchObject({exitCode: 137});
		expect(await eventually(() => held.isOver)).toBe(true);
	});
});
