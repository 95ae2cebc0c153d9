import {expect, onTestFinished, test} from 'vitest';
import type {SandboxPlan} from '../../../src/sandbox/plan.js';
import type {Twin} from '../../../src/server/fs-worker/fs-worker.js';
import {MAX_TWINS, Twins} from '../../../src/server/fs-worker/fs-worker-pool.js';
import {memoryTransportPair} from '../../../src/transports/memory.js';

/** Twins whose programs never answer. */
function twins(): {twins: Twins; closed: Twin[]} {
	const closed: Twin[] = [];
	const all = new Twins({
		launch: () => memoryTransportPair()[0],
		notified: () => {},
		closed: twin => void closed.push(twin),
	});
	onTestFinished(() => all.close());
	return {twins: all, closed};
}

const planOf = (number: number): SandboxPlan => ({mounts: [{kind: 'read', path: `/plan-${number}`}], network: 'none'});

test('the same plan has one twin, another plan another', () => {
	const {twins: all} = twins();
	const [first, second] = [all.of(planOf(1)), all.of(planOf(2))];
	expect([all.of(planOf(1)) === first, second === first]).toEqual([true, false]);
});

test('of more plans than there may be twins the one not used for longest makes room, if nobody holds it', () => {
	const {twins: all, closed} = twins();
	const made = Array.from({length: MAX_TWINS}, (_, number) => all.of(planOf(number)));
	const release = made[1]!.hold();
	// Used again, and so not the one to go.
	all.of(planOf(0));
	all.of(planOf(MAX_TWINS));
	expect(closed).toEqual([made[2]]);
	release();
});

test('when all are in use another one is refused', () => {
	const {twins: all, closed} = twins();
	const releases = Array.from({length: MAX_TWINS}, (_, number) => all.of(planOf(number)).hold());
	expect(() => all.of(planOf(MAX_TWINS))).toThrow(`at most ${MAX_TWINS} fs sandboxes may be in use`);
	expect(closed).toEqual([]);
	for (const release of releases) release();
});
