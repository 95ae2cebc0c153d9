import {FileError} from '../../../client/files/file-error.js';
import {ProcessLostError} from '../../../client/process/process-handle.js';
import {WaitError} from '../../../client/run/wait-for.js';
import {RpcError} from '../../../protocol/wire/error-codes.js';
import {withTimeout} from '../../../shared/async/timeout.js';
import {LongarmError} from '../../../shared/errors.js';
import {MachineRefusalError} from '../machines/machine-lack.js';

/** Time in which a machine has to answer a short question. */
const REACH_MS = 10_000;

/** The machine did not answer; what runs there may run on. */
export class MachineLostError extends Error {
	override readonly name = 'MachineLostError';
}

/** The answer to a short question to a machine; rejects with an `MachineLostError` when none comes. */
export async function reach<T>(machine: string, question: Promise<T>): Promise<T> {
	question.catch(() => {});
	try {
		return await withTimeout(question, REACH_MS, () => {
			throw new MachineLostError(`${machine} does not answer`);
		});
	} catch (error) {
		throw isLoss(error)
			? new MachineLostError(`${machine} cannot be reached: ${error.message}`, {cause: error})
			: error;
	}
}

/** Whether a failure is that of the way to a machine, and not an answer of the machine. */
export function isLoss(error: unknown): error is Error {
	if (error instanceof WaitError) return error.reason === 'lost';
	if (error instanceof FileError) return error.code === 'disconnected';
	if (error instanceof ProcessLostError || error instanceof MachineLostError) return true;
	if (error instanceof MachineRefusalError) return false;
	if (error instanceof RpcError || error instanceof LongarmError || error instanceof TypeError) return false;
	return error instanceof Error && error.name !== 'AbortError';
}
