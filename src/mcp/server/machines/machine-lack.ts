import {inputRefusalOf} from '../../../client/process/input-closed.js';
import type {ProcessHandle} from '../../../client/process/process-handle.js';
import type {NamedMachine} from './named-machine.js';

/** A machine that can be reached says no: nothing is lost, and asking again changes nothing. */
export class MachineRefusalError extends Error {
	override readonly name = 'MachineRefusalError';
}

/** A machine lacks something that a tool needs; `why` says what to do instead, too. */
export function lackError({name}: NamedMachine, what: string, why: string): MachineRefusalError {
	return new MachineRefusalError(`${name} has no \`${what}\`: ${why}`);
}

/** Writes to a process, named `id` to the model; one that takes no input refuses. */
export async function writeOrRefuse(process: ProcessHandle, bytes: Uint8Array, id: string): Promise<void> {
	try {
		await process.write(bytes);
	} catch (error) {
		const refusal = inputRefusalOf(error);
		if (!refusal) throw error;
		throw new MachineRefusalError(`${id} takes no input (${refusal === 'noStdin' ? 'stdinClosed' : refusal})`);
	}
}
