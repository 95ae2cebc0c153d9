// covers: src/transports/node/connect-web-socket.ts (answers of a server that does not let the client in)
import {createServer, type Server} from 'node:http';
import {type AddressInfo, createServer as createTcpServer} from 'node:net';
import {expect, onTestFinished, test} from 'vitest';
import {connectWebSocket, type UnreachableError} from '../../../src/transports/node/connect-web-socket.js';

async function refusing(status: number, text: string, headers: Record<string, string> = {}): Promise<string> {
	const server: Server = createServer();
	server.on('upgrade', (_request, socket) => {
		const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
		socket.end(`HTTP/1.1 ${status} Some Words\r\nConnection: close\r\n${lines.join('')}\r\n${text}`);
	});
	await new Promise<void>(resolve => {
		server.listen(0, '127.0.0.1', resolve);
	});
	onTestFinished(() => void server.close());
	return `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function refusal(url: string, token?: string): Promise<UnreachableError> {
	return connectWebSocket(url, {token}).then(
		() => expect.unreachable('it was let in'),
		(error: UnreachableError) => error,
	);
}

test('a token that the server refuses is said, with the words of the server and without the token', async () => {
	const url = await refusing(401, 'expired websocket jwt');
	const error = await refusal(url, 'sesame');
	expect(error.message).toBe(
		`failed to connect to exec-server websocket \`${url}\`: HTTP error: 401 Some Words: the server refused the token: expired websocket jwt`,
	);
	expect([error.status, error.hint]).toEqual([401, expect.stringContaining('Check LONGARM_EXEC_SERVER_TOKEN')]);
});

test('a token that is missing is said', async () => {
	const url = await refusing(401, '');
	expect((await refusal(url)).message).toBe(
		`failed to connect to exec-server websocket \`${url}\`: HTTP error: 401 Some Words: the server asks for a token and none was given`,
	);
});

test.each([
	[403, 'processes of other users are refused'],
	[421, 'no such host here'],
	[503, 'too many connections'],
])('the words of an answer of %i are told, each status with a hint of its own', async (status, text) => {
	const url = await refusing(status, text);
	const error = await refusal(url);
	expect(error.message).toContain(`HTTP error: ${status} Some Words: ${text}`);
	expect(error.status).toBe(status);
	expect(error.hint).not.toContain('Check the address');
});

test('of a long answer that would act on a terminal one harmless line is told', async () => {
	const url = await refusing(403, `\n  go\u001b[2J\u0007away ${'x'.repeat(5000)}\nsecond line`);
	const {message} = await refusal(url);
	expect(message).toMatch(/: go \[2J away x+$/);
	expect(message.length).toBeLessThan(400);
});

test('a server that never ends its answer does not hold the client up', async () => {
	const server = createTcpServer(socket => {
		socket.on('error', () => {});
		socket.write('HTTP/1.1 401 Unauthorized\r\nContent-Length: 100\r\n\r\nno');
	});
	await new Promise<void>(resolve => {
		server.listen(0, '127.0.0.1', resolve);
	});
	onTestFinished(() => void server.close());
	const {port} = server.address() as AddressInfo;
	expect((await refusal(`ws://127.0.0.1:${port}`, 'x')).message).toContain('the server refused the token: no');
});
