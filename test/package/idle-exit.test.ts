// covers: src/shared/async/keep-alive.ts, src/environments/remote/remote-backend.ts, src/client/process/base-process.ts
import {existsSync, readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {transform} from 'esbuild';
import {describe, expect, onTestFinished, test} from 'vitest';
import {listen} from '../../src/transports/node/listener.js';
import {
	createSelfSigned,
	inspectIdentity,
	type SelfSignedIdentity,
} from '../../src/transports/node/self-signed-certificate.js';
import type {TlsOptions} from '../../src/transports/node/tls-trust.js';
import {listenOnUnixSocket} from '../../src/transports/node/unix-listener.js';
import {Command, type Finished, PROGRAM} from '../helpers/command.js';
import {Cuttable} from '../helpers/cuttable.js';
import {runningExecutor, runningHub} from '../helpers/hubs.js';
import {eventually, untilDead} from '../helpers/processes.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {execServer, serving} from '../helpers/serving.js';
import {origin} from '../network/origin.js';

const LIBRARY = new URL('../../dist/index.js', import.meta.url).href;
/** Exit code of Node for a program that ends while its own code still waits for a promise. */
const UNSETTLED_AWAIT = 13;

/**
 * Beginning of every program. `command` runs on the machine until the file `gate` exists. The timer of `openLater` keeps no
 * program alive: one that does not wait for anything ends before the gate is open.
 */
const PRELUDE = `
import {writeFileSync} from 'node:fs';
import {connectWebSocket, Environment, SessionClient} from ${JSON.stringify(LIBRARY)};
const [target, gate] = process.argv.slice(2);
const command = ['sh', '-c', \`echo waiting; until [ -e \${gate} ]; do sleep 0.02; done; echo opened; exit 3\`];
const connect = () => Environment.remote('box', JSON.parse(target));
const openLater = () => void setTimeout(() => writeFileSync(gate, 'open'), 200).unref();
`;

interface Program {
	readonly command: Command;
	readonly gate: string;
	readonly finished: Promise<Finished>;
}

/** Starts a program of its own, which nothing but itself ends. */
async function startProgram(target: object, body: string): Promise<Program> {
	const directory = scratchDirectory();
	const file = join(directory, 'program.mjs');
	const gate = join(directory, 'gate');
	// Processes of the machine that still wait end with the test.
	onTestFinished(() => writeFileSync(gate, 'open'));
	const {code} = await transform(`${PRELUDE}${body}`, {loader: 'ts', target: 'node20', format: 'esm'});
	writeFileSync(file, code);
	const command = new Command([JSON.stringify(target), gate], {program: file});
	const finished = command.ended.then(ended => ({...ended, stdout: command.stdout, stderr: command.stderr}));
	return {command, gate, finished};
}

async function runProgram(target: object, body: string): Promise<Finished> {
	return (await startProgram(target, body)).finished;
}

async function webSocketTarget(): Promise<object> {
	const {url} = await serving({stateDirectory: join(scratchDirectory(), 'state')});
	return {kind: 'websocket', url};
}

async function secureTarget(toTrust = ({cert: ca}: SelfSignedIdentity): TlsOptions => ({ca})): Promise<object> {
	const tls = createSelfSigned(['127.0.0.1']);
	const server = execServer();
	const listener = await listen({host: '127.0.0.1', port: 0, tls, accept: transport => server.accept(transport)});
	onTestFinished(() => listener.close());
	return {kind: 'websocket', url: listener.url, tls: toTrust(tls)};
}

function pinnedTarget(): Promise<object> {
	return secureTarget(identity => ({fingerprint: inspectIdentity(identity)!.fingerprint}));
}

async function unixTarget(): Promise<object> {
	const path = join(scratchDirectory(), 'box.sock');
	const server = execServer();
	const listener = await listenOnUnixSocket({path, accept: transport => server.accept(transport)});
	onTestFinished(() => listener.close());
	return {kind: 'unix', path};
}

function commandTarget(): Promise<object> {
	const args = [PROGRAM, 'serve', '--listen', 'stdio'];
	return Promise.resolve({kind: 'command', program: process.execPath, args});
}

async function hubTarget(): Promise<object> {
	const hub = await runningHub();
	await runningExecutor(hub, 'box');
	return {kind: 'registry', url: `registry+${hub.url}/box`, token: hub.clientToken, executorKey: 'any'};
}

const TARGETS = [
	['ws:', webSocketTarget],
	['wss:', () => secureTarget()],
	['wss: with a pinned certificate', pinnedTarget],
	['a unix socket', unixTarget],
	['the standard streams of a command', commandTarget],
	['a hub', hubTarget],
] as const;

describe.each(TARGETS)('a program that is connected over %s', (_, createTarget) => {
	test('ends by itself when its command has ended, and the connection is still open', async () => {
		const finished = await runProgram(
			await createTarget(),
			`
			const machine = connect();
			console.log((await machine.run(['echo', 'hello'])).stdout.text.trim());
			console.log((await machine.status()).kind);`,
		);
		expect(finished).toEqual({code: 0, signal: null, stdout: 'hello\nready\n', stderr: ''});
	});

	test('stays while its command runs', async () => {
		const finished = await runProgram(
			await createTarget(),
			`
			const machine = connect();
			await machine.run(['true']);
			openLater();
			console.log((await machine.run(command, {reject: false})).stdout.text);`,
		);
		expect(finished).toEqual({code: 0, signal: null, stdout: 'waiting\nopened\n\n', stderr: ''});
	});
});

const IDLE = {
	'nothing was asked for': '',
	'files were written, read and searched': `
		await machine.files.writeFile(gate, 'open');
		console.error((await machine.files.readFile(gate)).length);
		for await (const match of machine.files.search({path: gate.replace('/gate', ''), contents: {pattern: 'open'}})) console.error(match.path !== '');`,
	'a process was started that nobody waits for': `await machine.start(command);`,
	'a process was started in the background': `await machine.start(command, {detach: true});`,
	'its output was read in part': `
		for await (const line of (await machine.start(command)).lines()) break;`,
	'a watch has ended': `
		const watch = await machine.files.watch(gate.replace('/gate', ''));
		await watch.return();`,
	'nobody listens for changes of a process any more': `
		(await machine.start(command)).onChange(() => {})();`,
	'listeners wait for a lost connection only': `machine.onDisconnect(() => {});
		await machine.info();`,
} as const;

test.each(Object.entries(IDLE))('a program ends by itself when %s', async (_, body) => {
	const {code, signal} = await runProgram(await webSocketTarget(), `const machine = connect();\n${body}`);
	expect([code, signal]).toEqual([0, null]);
});

const WAITING = {
	'the exit of a process': `console.log((await (await machine.start(command)).exited).exitCode);`,
	'the end of its output': `await (await machine.start(command)).closed; console.log(3);`,
	'the output of a process': `
		for await (const line of (await machine.start(command)).lines()) if (line === 'opened') console.log(3);`,
	'the output of a process that waits for its reader': `
		for await (const line of (await machine.start(command, {backpressure: true})).lines()) if (line === 'opened') console.log(3);`,
	'the events of a process': `
		for await (const event of (await machine.start(command)).events()) if (event.kind === 'exited') console.log(event.exitCode);`,
	'the next event of a process': `
		const started = await machine.start(command);
		for (let seq = 0; !started.isOver; ) seq = await started.waitForSeq(seq);
		console.log(3);`,
	'a pattern in the output': `console.log((await (await machine.start(command)).waitFor({pattern: /opened/})).by.length - 4);`,
	'a pattern that only the client can look for': `
		console.log((await (await machine.start(command)).waitFor({pattern: /OPENED/i})).by.length - 4);`,
	'logs of a process in the background': `
		const {processId} = await machine.start(command, {detach: true, name: 'x'});
		for await (const entry of (await machine.processes.reference(processId)).logs({follow: true}))
			if (entry.kind === 'output' && Buffer.from(entry.bytes).includes('opened')) console.log(3);`,
	'changes of a process': `
		const started = await machine.start(['sleep', '1000'], {detach: true, name: 'shared'});
		const other = connect();
		await new Promise(resolve => {
			const stop = started.onChange(change => {
				if (change.kind !== 'attached') return;
				stop();
				resolve();
			});
			setTimeout(() => void other.attach('shared', {role: 'observe'}), 200).unref();
		});
		console.log(3);`,
	'changes of files': `
		for await (const {changes} of await machine.files.watch(gate.replace('/gate', ''))) if (changes.some(each => each.path.endsWith('gate'))) break;
		console.log(3);`,
	'a file that is missing': `
		const {watching, changed} = await machine.files.watchMissing([gate]);
		await changed;
		console.log(watching ? 3 : 'not watched');`,
} as const;

test.each(Object.entries(WAITING))('a program stays while it waits for %s', async (_, body) => {
	const target = await webSocketTarget();
	const finished = await runProgram(target, `const machine = connect();\nawait machine.info();\nopenLater();\n${body}`);
	expect(finished).toEqual({code: 0, signal: null, stdout: '3\n', stderr: ''});
});

test('a program stays while it reads the body of a response', async () => {
	const {url: address} = await origin((request, response) => {
		response.write('first\n');
		const gate = decodeURIComponent(request.url!.slice(1));
		void eventually(() => existsSync(gate)).then(() => response.end('last\n'));
	});
	const body = `
		const machine = connect();
		await machine.info();
		openLater();
		console.log(await (await machine.fetch(${JSON.stringify(`${address}/`)} + encodeURIComponent(gate))).text());`;
	expect(await runProgram(await webSocketTarget(), body)).toMatchObject({code: 0, stdout: 'first\nlast\n\n'});
});

test('a program stays while a cut connection is made again, and for its command after that', async () => {
	const line = await Cuttable.to((await serving()).url);
	const {command, finished} = await startProgram(
		{kind: 'websocket', url: line.url},
		`
		const machine = connect();
		machine.onDisconnect(async (error, recovered) => {
			console.log('lost');
			await recovered;
			console.log('back');
			openLater();
		});
		const {exitCode, stdout} = await machine.run(command, {reject: false, onOutput: () => console.log('running')});
		console.log(exitCode, stdout.text);`,
	);
	await command.until(() => command.stdout.includes('running'), 'the command runs');
	line.isOpen = false;
	line.cut();
	await command.until(() => command.stdout.includes('lost'), 'the loss was noticed');
	line.isOpen = true;
	const {code, stdout} = await finished;
	expect([code, stdout]).toEqual([0, expect.stringMatching(/back\n(?:running\n)?3 waiting\nopened\n\n$/)]);
});

test('a program whose machine is gone for good is told, and does not end before', async () => {
	const line = await Cuttable.to((await serving()).url);
	const {command, finished} = await startProgram(
		{kind: 'websocket', url: line.url, recovers: false},
		`
		const machine = connect();
		const started = await machine.start(command);
		console.log('running');
		await started.exited.catch(error => console.log(error.name));`,
	);
	await command.until(() => command.stdout.includes('running'), 'the command runs');
	line.cut();
	expect(await finished).toMatchObject({code: 0, stdout: 'running\nProcessLostError\n'});
});

test('the end of a block that is `await using` a machine closes the connection', async () => {
	const {url, server} = await serving();
	const {command, finished} = await startProgram(
		{kind: 'websocket', url},
		`
		{
			await using machine = connect();
			await machine.run(['true']);
		}
		console.log('closed');
		process.stdin.resume();`,
	);
	await command.until(() => command.stdout.includes('closed'), 'the end of the block');
	await eventually(() => server.health()['connections'] === 0);
	command.child.stdin.end();
	expect(await finished).toMatchObject({code: 0});
});

test('a program stays until a connection is closed, however long the transport takes for it', async () => {
	const finished = await runProgram(
		await webSocketTarget(),
		`
		const machine = Environment.remote('box', {kind: 'transport', connect: async signal => {
			const transport = await connectWebSocket(JSON.parse(target).url, {signal});
			const close = transport.close.bind(transport);
			transport.close = () => void setTimeout(close, 200).unref();
			return transport;
		}});
		await machine.info();
		await machine.close();
		console.log('closed');`,
	);
	expect(finished).toEqual({code: 0, signal: null, stdout: 'closed\n', stderr: ''});
});

test('a program stays until it is known that a connection cannot be made again', async () => {
	const line = await Cuttable.to((await serving()).url);
	const {command, finished} = await startProgram(
		{kind: 'websocket', url: line.url},
		`
		const transport = await connectWebSocket(JSON.parse(target).url);
		const connections = [Promise.resolve(transport), new Promise(() => {})];
		const client = await SessionClient.open(() => connections.shift(), {recoveryBudgetMs: 200});
		client.onDisconnect(async () => console.log(await client.recovered().catch(error => error.name)));
		console.log('connected');`,
	);
	await command.until(() => command.stdout.includes('connected'), 'it is connected');
	line.cut();
	expect(await finished).toMatchObject({code: 0, stdout: 'connected\nDisconnectedError\n'});
});

test('a command that serves a program is asked to end when the program ends by itself', async () => {
	const pidFile = join(scratchDirectory(), 'pid');
	// It does not notice the end of its input.
	const script = `echo $$ > ${pidFile}; (exec ${process.execPath} ${PROGRAM} serve --listen stdio); exec sleep 1000`;
	const target = {kind: 'command', program: 'sh', args: ['-c', script]};
	expect(await runProgram(target, `await connect().run(['true']);`)).toMatchObject({code: 0});
	await untilDead(Number(readFileSync(pidFile, 'utf8')));
});

test('Node reports a program that ends while it still waits, which these tests rely on', async () => {
	const {code} = await runProgram({}, 'openLater();\nawait new Promise(() => {});');
	expect(code).toBe(UNSETTLED_AWAIT);
});
