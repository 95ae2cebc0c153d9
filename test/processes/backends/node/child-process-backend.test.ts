import {expect, test} from 'vitest';
import {createChildProcessBackend} from '../../../../src/processes/backends/node/child-process-backend.js';
import {PIPES, sh, start} from '../../../helpers/children.js';

/** `seq 1 18000`: more than Node takes in ahead of us, less than a socket pair holds. */
const LAST = 18_000;
const pattern = Array.from({length: LAST}, (_, index) => `${index + 1}\n`).join('');

test('finish keeps what Node took in ahead of us and what the kernel still held', async () => {
	const {child, report, finished} = await start(createChildProcessBackend(), sh(`exec seq 1 ${LAST}`, PIPES));
	child.pause();
	await report.until(() => report.exits.length > 0);
	child.drainAndClose();
	expect((await finished()).stdout === pattern).toBe(true);
});
