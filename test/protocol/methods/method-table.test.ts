import {expect, test} from 'vitest';
import {findDeclaration, METHODS, type MethodName} from '../../../src/protocol/methods/method-table.js';
import {decode} from '../../../src/protocol/wire/decode.js';

const entries = Object.entries(METHODS) as [MethodName, (typeof METHODS)[MethodName]][];

/** The other implementation's names, and ours. */
const CLIENT_REQUESTS = [
	'initialize',
	'environment/daemon',
	'environment/info',
	'environment/status',
	'environment/upgrade',
	'environmentConfig/read',
	'capabilityRoots/discoverV1',
	'capabilities/discoverV2',
	'process/start',
	'process/read',
	'process/acknowledge',
	'process/write',
	'process/signal',
	'process/terminate',
	'process/closeStdin',
	'process/resize',
	'process/wait',
	'process/snapshot',
	'process/list',
	'process/attach',
	'process/detach',
	'process/waitFor',
	'process/screen',
	'process/logs',
	'process/share',
	'process/shares',
	'process/unshare',
	'process/remove',
	'command/exec',
	'command/exec/write',
	'command/exec/terminate',
	'fs/readFile',
	'fs/open',
	'fs/readBlock',
	'fs/writeBlock',
	'fs/close',
	'fs/writeFile',
	'fs/createDirectory',
	'fs/getMetadata',
	'fs/canonicalize',
	'fs/readDirectory',
	'fs/walk',
	'fs/remove',
	'fs/copy',
	'fs/watchMissing',
	'fs/rename',
	'fs/pack',
	'fs/unpack',
	'fs/finish',
	'fs/list',
	'fs/digest',
	'fs/setAttributes',
	'fs/watch',
	'fs/unwatch',
	'fs/search',
	'fs/searchCancel',
	'http/request',
	'http/cancel',
	'forward/open',
	'forward/read',
	'forward/write',
	'forward/close',
];
const SERVER_NOTIFICATIONS = [
	'process/output',
	'process/exited',
	'process/closed',
	'process/attached',
	'process/detached',
	'process/driverChanged',
	'process/resized',
	'process/gap',
	'command/exec/outputDelta',
	'command/exec/exited',
	'http/request/bodyDelta',
	'fs/missingChanged',
	'fs/changed',
	'fs/searchMatches',
	'network/policyDecision',
];

function named(kind: string, from: string): string[] {
	return entries.filter(([, method]) => method.kind === kind && method.from === from).map(([name]) => name);
}

test('the table holds every request and notification of the wire, once and on the right side', () => {
	expect(named('request', 'client').sort()).toEqual([...CLIENT_REQUESTS].sort());
	expect(named('notification', 'server').sort()).toEqual([...SERVER_NOTIFICATIONS].sort());
	expect(named('notification', 'client')).toEqual(['initialized']);
	expect(named('request', 'server')).toEqual(['network/policyRequest']);
	expect(new Set(entries.map(([name]) => name.toLowerCase())).size).toBe(entries.length);
});

test('the handshake errors call every family by the name that clients know', () => {
	const families = Object.fromEntries(entries.map(([name, {family}]) => [name, family]));
	const expected = Object.fromEntries(
		entries.map(([name]) => {
			if (name.startsWith('process/') || name.startsWith('command/')) return [name, 'exec'];
			if (name.startsWith('fs/')) return [name, 'filesystem'];
			if (name.startsWith('http/') || name.startsWith('forward/')) return [name, 'http'];
			if (name.startsWith('network/')) return [name, 'network policy'];
			if (name.startsWith('capabilit')) return [name, 'capability discovery'];
			// The first request of a connection, before the handshake.
			if (name === 'environment/daemon') return [name, 'handshake'];
			if (name === 'environmentConfig/read') return [name, 'environment config'];
			return [name, name.startsWith('environment/') ? name.replace('/', ' ') : 'handshake'];
		}),
	);
	expect(families).toEqual(expected);
});

test('every method says in one sentence what it does', () => {
	expect(entries.filter(([, {summary}]) => !/^[A-Z].{8,}[^.]\.$/.test(summary))).toEqual([]);
	expect(new Set(entries.map(([, {summary}]) => summary)).size).toBe(entries.length);
});

test('every request has a result of its own; a notification has none to speak of', () => {
	const withoutResult = entries.filter(
		([, {result}]) => 'entries' in result && Object.keys(result.entries).length === 0,
	);
	expect(withoutResult.map(([name, {kind}]) => `${kind} ${name}`)).toEqual([
		'notification initialized',
		'request environment/upgrade',
		'request process/acknowledge',
		'request process/signal',
		'request process/closeStdin',
		'request process/resize',
		'notification process/output',
		'notification process/exited',
		'notification process/closed',
		'request process/detach',
		'request process/remove',
		'notification process/attached',
		'notification process/detached',
		'notification process/driverChanged',
		'notification process/resized',
		'notification process/gap',
		'notification command/exec/outputDelta',
		'notification command/exec/exited',
		'request fs/writeFile',
		'request fs/close',
		'request fs/createDirectory',
		'request fs/remove',
		'request fs/copy',
		'notification fs/missingChanged',
		'request fs/rename',
		'request fs/watch',
		'request fs/unwatch',
		'notification fs/changed',
		'request fs/searchCancel',
		'notification fs/searchMatches',
		'notification http/request/bodyDelta',
		'request http/cancel',
		'request forward/open',
		'request forward/write',
		'request forward/close',
		'notification network/policyDecision',
	]);
});

test.each<[MethodName, 'params' | 'result', string]>([
	['initialize', 'params', '{"clientName":"codex-environment","resumeSessionId":null}'],
	['initialize', 'result', '{"sessionId":"66af2bc5-9155-45a3-bb6d-49043ecb2b32"}'],
	['environment/info', 'result', '{"shell":{"name":"zsh","path":"/bin/zsh"}}'],
	['environment/status', 'result', '{"status":"ready"}'],
	[
		'process/start',
		'params',
		'{"processId":"proc-1","argv":["bash","-lc","printf \'ready\\\\n\'"],"cwd":"file:///srv/app","env":{"PATH":"/usr/bin:/bin"},"tty":false,"pipeStdin":false,"arg0":null}',
	],
	['process/start', 'result', '{"processId":"proc-1","sandboxType":"none"}'],
	['process/start', 'result', '{"processId":"proc-1"}'],
	[
		'process/read',
		'result',
		'{"chunks":[{"seq":1,"stream":"stdout","chunk":"cmVhZHkK"}],"nextSeq":2,"exited":false,"exitCode":null,"closed":false,"failure":null,"sandboxDenied":false}',
	],
	['process/write', 'params', '{"processId":"proc-1","chunk":"aGVsbG8K","writeId":"1"}'],
	['process/write', 'params', '{"processId":"proc-1","chunk":"aGVsbG8K"}'],
	['process/output', 'params', '{"processId":"proc-1","seq":1,"stream":"stdout","chunk":"cmVhZHkK"}'],
	['process/exited', 'params', '{"processId":"proc-1","seq":2,"exitCode":0,"sandboxDenied":false}'],
	['process/closed', 'params', '{"processId":"proc-1","seq":3}'],
])('%s takes the %s that travel today: %s', (method, side, text) => {
	const decoded = decode(METHODS[method][side], JSON.parse(text)) as Record<string, unknown>;
	expect(Object.keys(decoded)).toEqual(expect.arrayContaining(Object.keys(JSON.parse(text) as object)));
});

test('only names of the table are declared', () => {
	expect(findDeclaration('process/start')).toBe(METHODS['process/start']);
	for (const name of ['toString', '__proto__', 'constructor', '', 'process/Start']) {
		expect(findDeclaration(name)).toBeUndefined();
	}
});
