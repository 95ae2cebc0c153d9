import {expect, test} from 'vitest';
import type {ProcessHandle} from '../../../src/client/process/process-handle.js';
import {writeInput} from '../../../src/client/run/write-input.js';

/** More than a process that is gone for a turn of the loop may be given. */
const MAX_PIECES = 10_000;

test('input without end stops with a process whose exit is heard of in a later turn, though its writes are taken', async () => {
	let written = 0;
	let isClosed = false;
	const process = {
		exited: new Promise(resolve => setImmediate(() => resolve({exitCode: 0}))),
		write: async () => {
			written++;
			return {status: 'accepted'};
		},
		closeStdin: async () => {
			isClosed = true;
		},
	} as unknown as ProcessHandle;
	async function* endless() {
		for (let piece = 0; piece < MAX_PIECES; piece++) yield 'x';
	}
	await writeInput(process, endless());
	expect([written < MAX_PIECES, isClosed]).toEqual([true, false]);
});
