// covers: src/hub/nats/nats-server-child.ts, src/hub/nats/nats-directory.ts, src/hub/nats/nats-link.ts
import {once} from 'node:events';
import {readFileSync, writeFileSync} from 'node:fs';
import {type AddressInfo, createServer} from 'node:net';
import {join} from 'node:path';
import {TLSSocket} from 'node:tls';
import {expect, onTestFinished, test} from 'vitest';
import {openNatsDirectory} from '../../../src/hub/nats/nats-directory.js';
import {openNatsLink} from '../../../src/hub/nats/nats-link.js';
import {type NatsChild, startNatsServer} from '../../../src/hub/nats/nats-server-child.js';
import {silentLogger} from '../../../src/shared/logger.js';
import {createSelfSigned} from '../../../src/transports/node/self-signed-certificate.js';
import {optionalProgram} from '../../helpers/needs.js';
import {eventually, isAlive} from '../../helpers/processes.js';
import {scratchDirectory} from '../../helpers/scratch.js';

const INFO = {server_id: 'A', version: '2.12.9', proto: 1, host: '127.0.0.1', headers: true, max_payload: 1_048_576};

/** A process that greets like NATS, with a certificate of its own where its greeting offers TLS, and records what it is sent. */
async function impostor(info: object, port = 0): Promise<{port: number; connections: string[]}> {
	const connections: string[] = [];
	const identity = createSelfSigned(['127.0.0.1', 'localhost']);
	const hasTls = Object.keys(info).length > 0;
	const server = createServer(plain => {
		const index = connections.push('') - 1;
		plain.write(`INFO ${JSON.stringify({...INFO, ...info})}\r\n`);
		const socket = hasTls ? new TLSSocket(plain, {isServer: true, ...identity}) : plain;
		for (const each of [plain, socket]) each.on('error', () => plain.destroy());
		socket.on('data', (data: Buffer) => {
			connections[index] += data.toString('latin1');
			socket.write('PONG\r\n');
		});
	}).listen(port, '127.0.0.1');
	onTestFinished(() => void server.close());
	await once(server, 'listening');
	return {port: (server.address() as AddressInfo).port, connections};
}

function pidOf(directory: string): number {
	return Number(readFileSync(join(directory, 'nats-server.pid'), 'utf8'));
}

async function started(directory: string): Promise<NatsChild> {
	optionalProgram('nats-server');
	const child = await startNatsServer(directory, silentLogger);
	onTestFinished(() => child.close());
	return child;
}

test('every start has another port, token and certificate, and ends the server of a hub that was killed', async () => {
	const directory = scratchDirectory();
	const first = await started(directory);
	const pid = pidOf(directory);
	const second = await started(directory);
	expect(isAlive(pid)).toBe(false);
	expect(isAlive(pidOf(directory))).toBe(true);
	expect([second.url, second.token, second.certificate]).not.toContain(first.url);
	expect(second.token).not.toBe(first.token);
	expect(second.certificate).not.toBe(first.certificate);
	expect(readFileSync(join(directory, 'nats-server.conf'), 'utf8')).toContain('port: -1');
});

test('a process that has the id of an earlier server is left alone', async () => {
	const directory = scratchDirectory();
	writeFileSync(join(directory, 'nats-server.pid'), `${process.pid}\n`);
	await started(directory);
	expect(pidOf(directory)).not.toBe(process.pid);
});

test.each([
	['without TLS', {}],
	['with another certificate', {tls_required: true}],
	['with TLS for those who want it', {tls_available: true}],
])('a process on the port of a NATS server that has ended, %s, is not sent the token', async (_, info) => {
	optionalProgram('nats-server');
	const directory = scratchDirectory();
	const backend = await openNatsDirectory({directory, servers: ['auto'], name: 'test', logger: silentLogger});
	onTestFinished(() => backend.close());
	const port = Number(/:(\d+)$/.exec(backend.link.server)![1]);
	const pid = pidOf(join(directory, 'nats'));
	process.kill(pid, 'SIGKILL');
	await eventually(() => !isAlive(pid) && !backend.link.isUp);
	const {connections} = await impostor(info, port);
	await eventually(() => connections.length >= 3);
	expect(connections.join('')).toBe('');
	expect(backend.link.isUp).toBe(false);
});

test('a server that offers no TLS at a tls:// address is not sent the token', async () => {
	const {port, connections} = await impostor({});
	const servers = [`tls://127.0.0.1:${port}`];
	const link = openNatsLink({servers, name: 'test', token: 'secret', startTimeoutMs: 0, logger: silentLogger});
	await expect(link).rejects.toThrow("server does not support 'tls'");
	expect(connections).toEqual(['']);
});
