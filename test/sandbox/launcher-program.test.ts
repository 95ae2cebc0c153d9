import {spawnSync} from 'node:child_process';
import {writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {CallList} from '../../src/sandbox/native/call-list.js';
import {hasLauncher} from '../../src/sandbox/native/launcher-program.js';
import {AT_FDCWD, SIGCHLD} from '../../src/sandbox/native/system-calls.js';
import {unless} from '../helpers/needs.js';
import {scratchDirectory} from '../helpers/scratch.js';

const needsLauncher = unless(hasLauncher() ? undefined : `there is no launcher for ${process.arch}`);

function run(calls: CallList) {
	const file = join(scratchDirectory(), 'program');
	writeFileSync(file, calls.toProgram(), {mode: 0o755});
	const {status, signal, stdout, stderr} = spawnSync(file, {encoding: 'utf8', env: {}});
	return {status, signal, stdout, stderr};
}

test('a launcher makes its calls in order and uses the results of earlier ones', needsLauncher, () => {
	const calls = new CallList();
	const [file, length] = [calls.cell(), calls.cell()];
	const buffer = calls.bytes(Buffer.alloc(64));
	calls.require('open', 'openat', [AT_FDCWD, calls.text('/proc/self/comm'), 0], {result: file});
	calls.require('read', 'read', [file, buffer, 64], {result: length});
	calls.require('write', 'write', [1, buffer, length]);
	calls.attempt('exit_group', [length]);
	expect(run(calls)).toEqual({status: 'program\n'.length, signal: null, stdout: 'program\n', stderr: ''});
});

test('a launcher ends at the first call that fails, unless that may', needsLauncher, () => {
	const calls = new CallList();
	calls.attempt('chdir', [calls.text('/no/such')]);
	calls.require('enter ü', 'chdir', [calls.text('/no/such')]);
	calls.attempt('exit_group', [0]);
	const stderr = 'longarm-sandbox: enter ü: No such file or directory (os error 2)\n';
	expect(run(calls)).toEqual({status: 1, signal: null, stdout: '', stderr});
});

test.each([
	['exit_group', [7], 7],
	['kill', [0, 9], 137],
] as const)('a launcher waits for the right child and tells of its end: %s', needsLauncher, (name, args, expected) => {
	const calls = new CallList();
	const [child, other, code] = [calls.cell(), calls.cell(), calls.cell()];
	const [parent, wait] = [calls.target(), calls.target()];
	calls.require('fork', 'clone', [SIGCHLD, 0, 0, 0, 0], {result: child, jump: parent});
	calls.require('lead a group', 'setsid', []);
	calls.attempt(name, args);
	calls.place(parent);
	calls.require('fork', 'clone', [SIGCHLD, 0, 0, 0, 0], {result: other, jump: wait});
	calls.attempt('exit_group', [3]);
	calls.place(wait);
	calls.wait(child, code);
	calls.attempt('exit_group', [code]);
	expect(run(calls)).toMatchObject({status: expected, stderr: ''});
});
