import {expect, test} from 'vitest';
import {
	connectCommand,
	connectStandardWebSocket,
	connectWebSocket,
	EnvironmentManager,
	ExecServer,
	LazyClient,
	listen,
	SessionClient,
	UnifiedExec,
} from '../src/index.js';
import {ProcessTransport} from '../src/mcp/process-transport.js';
import {ENVIRONMENTS} from './helpers/transports.js';

/** Calls with a typo in an option, by the option that was meant. */
const CALLS: Readonly<Record<string, (typo: object) => unknown>> = {
	detachedSessionMs: typo => new ExecServer(typo),
	maxPollMs: typo => new UnifiedExec(typo),
	recoveryBudgetMs: typo => new LazyClient(neverCalled, typo),
	resumeSessionId: typo => SessionClient.open(neverCalled, typo),
	allowOrigins: typo => listen({host: '127.0.0.1', port: 0, accept: () => {}, ...typo}),
	peerTimeoutMs: typo => connectWebSocket('ws://127.0.0.1:1', typo),
	pingIntervalMs: typo => connectStandardWebSocket('ws://127.0.0.1:1', typo),
	onStderr: typo => connectCommand('/bin/true', typo),
	provider: typo => EnvironmentManager.load(typo),
};

async function neverCalled(): Promise<never> {
	throw new Error('a connection was made');
}

test.each(Object.entries(CALLS))('a typo in %s is refused with what was meant', async (name, call) => {
	const typo = {[`${name}x`]: 1};
	const attempt = async () => call(typo);
	await expect(attempt()).rejects.toThrow(TypeError);
	await expect(attempt()).rejects.toThrow(`unknown option \`${name}x\``);
	await expect(attempt()).rejects.toThrow(`did you mean \`${name}\`?`);
});

test('a transport of an MCP server refuses what it does not know', async () => {
	const environment = await ENVIRONMENTS['this machine']!();
	expect(() => new ProcessTransport(environment, ['x'], {onStder: () => {}} as object)).toThrow('`onStderr`?');
	expect(() => new ProcessTransport(environment, ['x'], {tty: true} as object)).toThrow('unknown option `tty`');
	expect(() => new ProcessTransport(environment, 'x -y' as never)).toThrow('argv must be an array');
});

test('times of servers and clients may be text with a unit', async () => {
	const server = new ExecServer({detachedSessionMs: '5m', shutdownGraceMs: '0'});
	await server.shutdown();
	expect(() => new ExecServer({retainClosedMs: 'soon'})).toThrow('option `retainClosedMs` of ExecServer');
	expect(() => new ExecServer({retainClosedMs: -1})).toThrow('not `-1`');
	await expect(connectWebSocket('ws://127.0.0.1:1', {timeoutMs: Number.NaN})).rejects.toThrow('`timeoutMs`');
});
