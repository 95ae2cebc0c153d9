import {expect, test} from 'vitest';
import {Gate} from '../helpers/gate.js';
import {running, structured} from './running.js';

const FOREVER = {cmd: 'exec sleep 1000', yield_time_ms: 250};

test('of 66 sessions the two least recently used are ended, and what was only talked to in vain counts as used', async () => {
	const {exec, told, events} = await running();
	// One after the other, so that their order is known; each is let go as soon as it runs.
	const start = async () => {
		const controller = new AbortController();
		const begun = events.filter(({kind}) => kind === 'begin').length;
		const answer = exec.execCommand(FOREVER, {signal: controller.signal});
		await told(event => event.kind === 'begin' && event.processId === String(1000 + begun));
		controller.abort();
		return structured(await answer).session_id!;
	};
	const ids: number[] = [];
	while (ids.length < 64) ids.push(await start());
	expect(ids).toEqual(Array.from({length: 64}, (_, index) => 1000 + index));
	const refused = await exec.writeStdin({session_id: 1000, chars: 'x'});
	expect(refused.text).toContain('stdin is closed');
	ids.push(await start(), await start());
	const ended = await Promise.all(
		['1001', '1002'].map(processId => told(event => event.kind === 'end' && event.processId === processId)),
	);
	expect(ended).toMatchObject([{exitCode: 137}, {exitCode: 137}]);
	expect(exec.list().map(({sessionId}) => sessionId)).toEqual(ids.filter(id => id !== 1001 && id !== 1002));
	expect(events.filter(({kind}) => kind === 'end')).toHaveLength(2);
	expect((await exec.writeStdin({session_id: 1001})).text).toBe('write_stdin failed: Unknown process id 1001');
});

test('a session that has exited unseen makes room before an older one that runs', async () => {
	const {exec, told, begin} = await running({maxSessions: 3, protectedSessions: 1});
	const gate = new Gate();
	await exec.execCommand(FOREVER);
	await begin({cmd: `echo up; ${gate.wait}`});
	await exec.execCommand(FOREVER);
	gate.open();
	await told(event => event.kind === 'end' && event.processId === '1001');
	await exec.execCommand(FOREVER);
	expect(exec.list().map(({sessionId}) => sessionId)).toEqual([1000, 1002, 1003]);
	expect((await exec.writeStdin({session_id: 1001})).text).toContain('Unknown process id 1001');
});
