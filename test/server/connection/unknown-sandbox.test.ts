import {expect, test} from 'vitest';
import {METHODS, type RequestName} from '../../../src/protocol/methods/method-table.js';
import {refusal, served} from '../../helpers/process-api.js';

const PATH = 'file:///tmp';
const POLICY = {permissions: {type: 'managed', file_system: {type: 'restricted', entries: []}, network: 'restricted'}};

/** Params of every served request that takes some and does not declare `sandbox`. */
const PARAMS: Partial<Record<RequestName, Record<string, unknown>>> = {
	'environmentConfig/read': {cwd: PATH, configPaths: [['model']], requirementsPaths: []},
	'process/read': {processId: 'p'},
	'process/write': {processId: 'p', chunk: ''},
	'process/signal': {processId: 'p', signal: 'interrupt'},
	'process/terminate': {processId: 'p'},
	'process/closeStdin': {processId: 'p'},
	'process/resize': {processId: 'p', rows: 1, cols: 1},
	'process/wait': {processId: 'p'},
	'process/snapshot': {processId: 'p'},
	'command/exec': {argv: ['true'], cwd: PATH, env: {}, tty: false},
	'command/exec/write': {sessionId: 's', chunk: ''},
	'command/exec/terminate': {sessionId: 's'},
	'fs/readBlock': {handleId: 'h', offset: 0, len: 1},
	'fs/writeBlock': {handleId: 'h', offset: 0, chunk: ''},
	'fs/close': {handleId: 'h'},
	'fs/finish': {handleId: 'h'},
	'fs/unwatch': {watchId: 'w'},
	'fs/watchMissing': {watchId: 1, missing: [PATH]},
	'fs/searchCancel': {searchId: 's'},
	'http/request': {method: 'GET', url: 'http://127.0.0.1:1', requestId: 'r'},
	'http/cancel': {requestId: 'r'},
	'forward/open': {forwardId: 'f', port: 1},
	'forward/read': {forwardId: 'f'},
	'forward/write': {forwardId: 'f', chunk: ''},
	'forward/close': {forwardId: 'f'},
};

function listUnaware(): string[] {
	return Object.entries(METHODS)
		.filter(([, row]) => row.kind === 'request' && row.from === 'client' && !('unserved' in row))
		.filter(
			([name, row]) => name !== 'initialize' && !('sandbox' in ((row.params as {entries?: object}).entries ?? {})),
		)
		.map(([name]) => name);
}

test.each(listUnaware())('%s refuses a policy that it cannot enforce', async method => {
	const {client} = await served({allowForward: 'any'});
	const answer = client.call(method, {...PARAMS[method as RequestName], sandbox: POLICY});
	const {code, message} = (await refusal(answer)) as {code: number; message: string};
	expect(code).toBe(-32602);
	// Methods without params say that they take none.
	const expected = Object.hasOwn(PARAMS, method)
		? `${method} cannot enforce a sandbox: leave \`sandbox\` out`
		: message;
	expect(message).toBe(expected);
});

test('a policy that is null, as stock clients send it, and other unknown members are ignored', async () => {
	const {client} = await served();
	expect(await client.call('process/terminate', {processId: 'p', sandbox: null, later: 1})).toEqual({running: false});
	const params = {...PARAMS['command/exec'], sandbox: null};
	expect(await client.call('command/exec', params)).toEqual({sessionId: 'session-1'});
});
