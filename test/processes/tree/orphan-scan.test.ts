import {spawnSync} from 'node:child_process';
import {existsSync} from 'node:fs';
import {expect, test} from 'vitest';
import {needs} from '../../helpers/needs.js';

const BUILT = new URL('../../../dist/processes/tree/', import.meta.url).href;
const TAG = '3123456780000000042';
const MAX_RUN_MS = 60_000;

/** Starts a thread, which is the newest process id of the machine, and looks for orphans until it was seen. */
const PROGRAM = `
	import {Worker} from 'node:worker_threads';
	import {once} from 'node:events';
	import {existsSync, readFileSync} from 'node:fs';
	import {OrphanScan} from '${BUILT}orphan-scan.js';
	import {enableSubreaper} from '${BUILT}subreaper.js';
	enableSubreaper(() => true, () => {});
	const newest = () => readFileSync('/proc/loadavg', 'utf8').trim().split(' ').at(-1);
	const scan = new OrphanScan(() => true);
	scan.next(performance.now() + 100);
	// Other programs start processes, too.
	for (let isOwn = false; !isOwn; ) {
		const worker = new Worker('setInterval(() => {}, 1000)', {eval: true});
		await once(worker, 'online');
		isOwn = existsSync('/proc/self/task/' + newest());
		if (isOwn) scan.next(performance.now() + 100);
		await worker.terminate();
	}
	console.log('continued');
`;

test('a look for orphans does not stop this process, which has the tag of its latest child', needs('prlimit'), () => {
	expect(existsSync(new URL('orphan-scan.js', BUILT))).toBe(true);
	const {stdout, signal} = spawnSync(
		'prlimit',
		[`--rttime=${TAG}:${TAG}`, process.execPath, '--input-type=module', '--eval', PROGRAM],
		{encoding: 'utf8', timeout: MAX_RUN_MS, killSignal: 'SIGKILL'},
	);
	expect([stdout, signal]).toEqual(['continued\n', null]);
});
