import {setImmediate} from 'node:timers/promises';

/** Lets the event loop go round so many times: whatever was going to happen by itself has had its chance. */
export async function turns(count = 20): Promise<void> {
	for (let turn = 0; turn < count; turn++) await setImmediate();
}
