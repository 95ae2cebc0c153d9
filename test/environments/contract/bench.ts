import type {ProcessHandle} from '../../../src/client/process/process-handle.js';
import type {Environment, StartCommandOptions} from '../../../src/environments/environment.js';

/** Everything a case needs of one of the two machines. */
export interface Bench {
	readonly environment: Environment;
	/** Empty directory of this case. */
	readonly directory: string;
	/** HTTP server that answers with the path, redirects `/to/PATH` to `/PATH`, and greets on `/`. */
	readonly origin: string;
	/** TCP port that returns what it is sent. */
	readonly echoPort: number;
	/** Name that no process has. */
	readonly name: string;
	/** Starts a shell script. */
	readonly sh: (script: string, options?: StartCommandOptions) => Promise<ProcessHandle>;
}

/** One call of a member, whose result or error has to be the same on both machines. */
export type ContractCase = (bench: Bench) => unknown;

/** Cases of every member of an interface, by what they show. */
export type ContractCases<Member extends PropertyKey> = Readonly<
	Record<Member & string, Readonly<Record<string, ContractCase>>>
>;

/** All items of an iteration. */
export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
	const all: T[] = [];
	for await (const item of items) all.push(item);
	return all;
}

/** The failure of a promise, which has to fail. */
export async function failure(promise: Promise<unknown>): Promise<unknown> {
	try {
		await promise;
	} catch (error) {
		return error;
	}
	throw new Error('it did not fail');
}

/** Output that nobody reads, beyond which a process with back-pressure waits. */
const MAX_UNREAD_BYTES = 1024 * 1024;

/** Settles when a process with back-pressure has written more than its reader may leave unread. */
export async function untilHeldBack(process: ProcessHandle): Promise<void> {
	while ((await process.snapshot()).totalBytes.stdout <= MAX_UNREAD_BYTES) {
		await new Promise(resolve => setTimeout(resolve, 5));
	}
}
