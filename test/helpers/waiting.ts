import {onTestFinished} from 'vitest';
import type {Backend, SpawnRequest} from '../../src/processes/backends/backend.js';
import type {ManagedProcess} from '../../src/processes/managed-process.js';
import {type WantedInput, watchInput} from '../../src/processes/wait/input-watch.js';
import type {WaitConditions} from '../../src/processes/wait/wait-conditions.js';
import {type Io, nativeBackend, PIPES_WITH_STDIN, sh} from './children.js';
import {Managed} from './managed.js';

export const NO_CONDITION: WaitConditions = {
	exit: false,
	pattern: undefined,
	afterSeq: undefined,
	port: undefined,
	silenceMs: undefined,
	input: false,
	timeoutMs: undefined,
};

let native: Backend | undefined;

/** A script that runs until the end of the test. */
export async function running(
	script: string,
	io: Io = PIPES_WITH_STDIN,
	changes: Partial<SpawnRequest> = {},
	backend: Backend = (native ??=
		nativeBackend()),
): Promise<Managed> {
	const managed = new Managed();
	onTestFinished(() => void managed.process.terminate());
	await managed.process.spawn(backend, sh(script, io, changes));
	await managed.process.started;
	return managed;
}

/** The first input that a process wants. */
export function wantedInput(process: ManagedProcess): Promise<WantedInput> {
	return new Promise(resolve => {
		const stop = watchInput(process, input => {
			stop();
			resolve(input);
		});
		onTestFinished(stop);
	});
}

/** Settles with a failure in place of a rejection. */
export function failureOf(promise: Promise<unknown>): Promise<unknown> {
	return promise.then(
		value => ({value}),
		(error: unknown) => error,
	);
}
