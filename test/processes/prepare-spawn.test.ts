import {describe, expect, test} from 'vitest';
import {prepareSpawn, type StartRequest} from '../../src/processes/prepare-spawn.js';

const REQUEST: StartRequest = {
	argv: ['sh', '-c', 'true'],
	arg0: undefined,
	cwd: Buffer.from('/tmp'),
	env: {PATH: '/bin'},
	environmentPolicy: undefined,
	io: {kind: 'pipes', stdin: false},
};

function prepare(changes: Partial<StartRequest>, own: Record<string, string> = {}): ReturnType<typeof prepareSpawn> {
	return prepareSpawn({...REQUEST, ...changes}, own);
}

test('a request becomes what the system needs', () => {
	expect(prepare({})).toEqual({
		file: '/bin/sh',
		argv: ['sh', '-c', 'true'],
		cwd: Buffer.from('/tmp'),
		environment: new Map([['PATH', '/bin']]),
		io: {kind: 'pipes', stdin: false},
	});
});

test('arg0 is what the program sees as its name; the file stays that of argv', () => {
	const {file, argv} = prepare({arg0: 'another name'});
	expect({file, argv}).toEqual({file: '/bin/sh', argv: ['another name', '-c', 'true']});
});

test('the program is looked for along the PATH the child will have, not ours', () => {
	const inherit = {ignoreDefaultExcludes: true, exclude: [], set: {}, includeOnly: []};
	expect(prepare({env: {}, environmentPolicy: {...inherit, inherit: 'all'}}, {PATH: '/nowhere:/bin'}).file).toBe(
		'/bin/sh',
	);
	expect(() => prepare({env: {PATH: '/nowhere'}}, {PATH: '/bin'})).toThrow('No such file or directory (os error 2)');
});

function refusal(message: string): object {
	return expect.objectContaining({code: 'SPAWN_FAILED', message}) as object;
}

describe('refused', () => {
	test('an empty program', () => {
		expect(() => prepare({argv: ['', 'x']})).toThrow(refusal('missing program for pipe spawn'));
		expect(() => prepare({argv: [''], io: {kind: 'pty', columns: 80, rows: 24}})).toThrow(
			refusal('missing program for PTY spawn'),
		);
	});

	test('a NUL byte in anything the system would cut short there', () => {
		const inArguments = refusal('nul byte found in provided data');
		expect(() => prepare({argv: ['/bin/sh\0x']})).toThrow(inArguments);
		expect(() => prepare({argv: ['sh', 'a\0b']})).toThrow(inArguments);
		expect(() => prepare({arg0: '\0'})).toThrow(inArguments);
		const inVariables = refusal('data provided contains a nul byte');
		expect(() => prepare({env: {...REQUEST.env, A: '\0'}})).toThrow(inVariables);
		expect(() => prepare({env: {...REQUEST.env, 'A\0': ''}})).toThrow(inVariables);
	});
});
