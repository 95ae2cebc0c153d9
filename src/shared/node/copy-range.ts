// Linux only: copy_file_range.
import {Semaphore} from '../async/semaphore.js';
import {loadKoffi} from './koffi.js';

interface PooledCall {
	/** Runs on a thread of Node's pool. */
	async(...parameters: readonly unknown[]): void;
}

/** Calls at a time: each has a stack of its own, and a thread of the four that Node has is left to others. */
const MAX_CALLS = 3;
/** Result of a call that failed. */
const FAILED = -1;

const places = new Semaphore(MAX_CALLS);
/** Undefined until it is looked for, null where it is missing. */
let copyFileRange: PooledCall | null | undefined;

/**
 * Copies bytes between two open files within the kernel, from and to their positions. Resolves to the number of bytes,
 * which is 0 at the end of the file, or undefined where the kernel cannot: reading and writing tells the reason then.
 */
export async function copyRange(from: number, to: number, bytes: number): Promise<number | undefined> {
	if (copyFileRange === undefined) copyFileRange = findCall();
	const call = copyFileRange;
	if (!call) return undefined;
	const copied = await places.run(() => runPooled(call, [from, null, to, null, bytes, 0]));
	return copied === FAILED ? undefined : copied;
}

function runPooled(call: PooledCall, parameters: readonly unknown[]): Promise<number> {
	return new Promise(resolve => {
		try {
			call.async(...parameters, (error: unknown, length: number | bigint) => resolve(error ? FAILED : Number(length)));
		} catch {
			// More calls at a time than the interface to the C library takes.
			resolve(FAILED);
		}
	});
}

function findCall(): PooledCall | null {
	try {
		const signature =
			'long copy_file_range(int from, void *fromAt, int to, void *toAt, size_t bytes, unsigned int flags)';
		return loadKoffi().load(null).func(signature) as unknown as PooledCall;
	} catch {
		return null;
	}
}
