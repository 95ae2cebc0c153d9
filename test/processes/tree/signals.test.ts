import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {expect, test} from 'vitest';
import {hasGroup} from '../../../src/processes/tree/signals.js';
import {endWithTest} from '../../helpers/process-api.js';

test('a group is there until its last member was reaped, and not after that', async () => {
	const leader = spawn('sleep', ['1000'], {detached: true, stdio: 'ignore'});
	const exited = once(leader, 'exit');
	endWithTest(leader.pid!);
	expect(hasGroup(leader.pid!)).toBe(true);
	leader.kill('SIGKILL');
	await exited;
	expect(hasGroup(leader.pid!)).toBe(false);
});
