import {setImmediate} from 'node:timers/promises';

/** Waits for `count` ticks of the event loop, so that all pending callbacks have run. */
export async function waitTicks(count = 20): Promise<void> {
	for (let tick = 0; tick < count; tick++) await setImmediate();
}
