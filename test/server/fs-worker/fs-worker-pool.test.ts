import {expect, onTestFinished, test} from 'vitest';
import type {SandboxPlan} from '../../../src/sandbox/plan.js';
import type {FsWorker} from '../../../src/server/fs-worker/fs-worker.js';
import {FsWorkerPool, MAX_FS_WORKERS} from '../../../src/server/fs-worker/fs-worker-pool.js';
import {memoryTransportPair} from '../../../src/transports/memory.js';

/** Workers whose programs never answer. */
function workers(): {workers: FsWorkerPool; closed: FsWorker[]} {
	const closed: FsWorker[] = [];
	const all = new FsWorkerPool({
		launch: () => memoryTransportPair()[0],
		onNotification: () => {},
		onClosed: worker => void closed.push(worker),
	});
	onTestFinished(() => all.close());
	return {workers: all, closed};
}

const planOf = (number: number): SandboxPlan => ({mounts: [{kind: 'read', path: `/plan-${number}`}], network: 'none'});

test('the same plan has one worker, another plan another', () => {
	const {workers: all} = workers();
	const [first, second] = [all.getOrStart(planOf(1)), all.getOrStart(planOf(2))];
	expect([all.getOrStart(planOf(1)) === first, second === first]).toEqual([true, false]);
});

test('of more plans than there may be workers the one not used for longest makes room, if nobody holds it', () => {
	const {workers: all, closed} = workers();
	const made = Array.from({length: MAX_FS_WORKERS}, (_, number) => all.getOrStart(planOf(number)));
	const release = made[1]!.hold();
	// Used again, and so not the one to go.
	all.getOrStart(planOf(0));
	all.getOrStart(planOf(MAX_FS_WORKERS));
	expect(closed).toEqual([made[2]]);
	release();
});

test('when all are in use another one is refused', () => {
	const {workers: all, closed} = workers();
	const releases = Array.from({length: MAX_FS_WORKERS}, (_, number) => all.getOrStart(planOf(number)).hold());
	expect(() => all.getOrStart(planOf(MAX_FS_WORKERS))).toThrow(`at most ${MAX_FS_WORKERS} fs sandboxes may be in use`);
	expect(closed).toEqual([]);
	for (const release of releases) release();
});
