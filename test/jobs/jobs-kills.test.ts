// covers: src/jobs/nats
import {execFile} from 'node:child_process';
import {fileURLToPath} from 'node:url';
import {promisify} from 'node:util';
import {expect, test} from 'vitest';
import {needs} from '../helpers/needs.js';

const SCRIPT = fileURLToPath(new URL('../../bench/jobs-nats.mjs', import.meta.url));
const MAX_SECONDS = 280;

test('a runner, the coordinator, a broker and everything at once are killed, and every item has one result', {
	...needs('nats-server'),
	timeout: 1000 * (MAX_SECONDS + 20),
}, async () => {
	const args = [SCRIPT, '--items', '6000', '--kills', '6', '--nodes', '3', '--seconds', String(MAX_SECONDS)];
	const {stdout} = await promisify(execFile)(process.execPath, args);
	expect(stdout).toContain('results in the stream: 6000, of 6000 items');
	expect(stdout).toContain('output: 6000 lines in row order');
	expect(stdout).toMatch(
		/the job is completed; killed: .*"runner":[1-9].*"coordinator":[1-9].*"broker":[1-9].*"everything":1/,
	);
	expect(stdout).not.toContain('FAILED');
});
