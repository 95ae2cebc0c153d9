import {randomUUID} from 'node:crypto';
import {mkdtempSync, readFileSync, realpathSync, rmSync} from 'node:fs';
import {createServer} from 'node:http';
import {type AddressInfo, createServer as createTcpServer, type Server} from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {isDeepStrictEqual} from 'node:util';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {Environment} from '../../../src/environments/environment.js';
import {ExecServer} from '../../../src/server/server.js';
import {type Listener, listen} from '../../../src/transports/node/listener.js';
import {PROGRAM} from '../../helpers/command.js';
import {noSandbox} from '../../helpers/sandboxes.js';
import type {Bench, ContractCase} from './bench.js';
import {ENVIRONMENT_CASES, PORT_CASES, PROCESSES_CASES} from './environment-cases.js';
import {FILES_CASES} from './files-cases.js';
import {HANDLE_CASES} from './handle-cases.js';
import {KNOWN_DIFFERENCES} from './known-differences.js';
import {outcomeOf} from './outcome.js';

/** Cases of every interface of the public API, by the name it has in docs/api.md. */
const SUITE: Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, ContractCase>>>>>> = {
	Environment: ENVIRONMENT_CASES,
	Processes: PROCESSES_CASES,
	ProcessHandle: HANDLE_CASES,
	Files: FILES_CASES,
	PortConnection: PORT_CASES,
};

const directory = realpathSync(mkdtempSync(join(tmpdir(), 'longarm-contract-')));
let server: ExecServer;
let listener: Listener;
let origin: Server;
let echo: Server;

beforeAll(async () => {
	server = new ExecServer({
		allowForward: 'loopback',
		stateDirectory: join(directory, 'state'),
		ownCommand: [process.execPath, PROGRAM],
	});
	listener = await listen({host: '127.0.0.1', port: 0, accept: transport => server.accept(transport)});
	origin = createServer((request, response) => {
		const target = /^\/to(\/.*)$/.exec(request.url!)?.[1];
		response.setHeader('x-seen', request.url!);
		if (target) response.writeHead(302, {location: target}).end();
		else request.pipe(response.writeHead(200));
	});
	echo = createTcpServer({allowHalfOpen: true}, socket => void socket.on('error', () => {}).pipe(socket));
	await Promise.all([origin, echo].map(each => new Promise<void>(resolve => each.listen(0, '127.0.0.1', resolve))));
});

afterAll(async () => {
	origin.close();
	echo.close();
	await listener.close();
	await server.shutdown(0);
	rmSync(directory, {recursive: true, force: true});
});

async function outcomeOn(environment: Environment, contractCase: ContractCase): Promise<unknown> {
	const own = mkdtempSync(join(directory, 'case-'));
	const {port} = origin.address() as AddressInfo;
	const bench: Bench = {
		environment,
		directory: own,
		origin: `http://127.0.0.1:${port}`,
		echoPort: (echo.address() as AddressInfo).port,
		name: `contract-${randomUUID()}`,
		sh: (script, options) => environment.start(['/bin/sh', '-c', script], options),
	};
	try {
		return await outcomeOf(() => contractCase(bench), own);
	} finally {
		await environment.close();
	}
}

const needsNoSandbox = (name: string): boolean => !name.startsWith('sandbox');

describe.each(Object.entries(SUITE))('%s', (api, members) => {
	const cases = Object.entries(members).flatMap(([member, each]) =>
		Object.entries(each).map(([name, contractCase]) => [`${member}: ${name}`, contractCase] as const),
	);
	test.each(cases)('%s is the same on this machine and on another', async (name, contractCase) => {
		if (!needsNoSandbox(name.split(': ')[1]!) && noSandbox() !== undefined) return;
		const local = await outcomeOn(Environment.local(), contractCase);
		const remote = await outcomeOn(Environment.remote('box', listener.url), contractCase);
		const isKnown = `${api}.${name}` in KNOWN_DIFFERENCES;
		const isDifferent = !isDeepStrictEqual(local, remote);
		expect({outcome: local, isDifferent}).toEqual({outcome: isKnown ? local : remote, isDifferent: isKnown});
	});

	test('every documented member has a case', () => {
		// Interfaces that extend `AsyncDisposable` do not repeat its member.
		const documented = new Set([
			...listDocumentedMembers(api),
			...Object.keys(members).filter(name => name.startsWith('[')),
		]);
		expect(Object.keys(members).sort()).toEqual([...documented].sort());
		expect(Object.entries(members).filter(([, each]) => Object.keys(each).length === 0)).toEqual([]);
	});
});

test('every known difference is a case that exists', () => {
	const names = Object.entries(SUITE).flatMap(([api, members]) =>
		Object.entries(members).flatMap(([member, each]) => Object.keys(each).map(name => `${api}.${member}: ${name}`)),
	);
	expect(Object.keys(KNOWN_DIFFERENCES).filter(name => !names.includes(name))).toEqual([]);
});

/** Members of a class or interface of the reference, which is made of the declarations. */
function listDocumentedMembers(api: string): string[] {
	const reference = readFileSync(new URL('../../../docs/api.md', import.meta.url), 'utf8');
	const declaration = new RegExp(`^(?:class|interface) ${api}\\b[^\\n]*\\{\\n([^]*?)\\n\\}$`, 'm').exec(reference)![1]!;
	const found = declaration.matchAll(/^\t(?:readonly |static )*(\[Symbol\.\w+\]|\w+)\??[(:<]/gm);
	return [...new Set([...found].map(match => match[1]!).filter(name => name !== 'constructor'))];
}
