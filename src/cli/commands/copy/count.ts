import type {CopyTask} from './copy-plan.js';

/** How many bytes the tasks are about; undefined where an executor cannot tell. Only a figure for people. */
export async function countBytes(tasks: readonly CopyTask[], signal: AbortSignal): Promise<number | undefined> {
	let bytes = 0;
	for (const {from} of tasks) {
		if (!(await from.files.supports('resume'))) return undefined;
		for await (const entry of from.files.list(from.path, {signal})) if (entry.kind === 'file') bytes += entry.size;
	}
	return bytes;
}
