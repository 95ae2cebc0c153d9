import {abortable} from '../../../shared/async/timeout.js';
import {type OptionTable, readOptions} from '../../../shared/call-options.js';
import {wrapFileErrors} from '../file-error.js';
import type {CopyContext, CopyFailure, CopyObserver} from './copy-context.js';
import {planCopy} from './copy-plan.js';
import {CopyStats, type CopySummary} from './copy-stats.js';
import {runTask} from './run-tasks.js';
import {type CopyRoute, toTransferRoute} from './transfer.js';

/** Options of `copyFiles`. */
export interface CopyOptions extends CopyObserver {
	/** Whether files and links replace existing ones; they do unless told otherwise. */
	readonly overwrite?: boolean | undefined;
	/** False: what was copied may be lost in a power cut of the target that follows soon. */
	readonly sync?: boolean | undefined;
	readonly signal?: AbortSignal | undefined;
}

/** Figures of a copy that is over. */
export interface CopyResult extends CopySummary {
	/** Entries of a directory that could not be copied, 10,000 at most; `failed` counts all of them. */
	readonly failures: readonly CopyFailure[];
}

const COPY_OPTIONS: OptionTable<CopyOptions> = {
	overwrite: 'flag',
	signal: 'signal',
	onProgress: 'function',
	onFailure: 'function',
	onRetry: 'function',
	onFallback: 'function',
	sync: 'flag',
};

/**
 * Copies a file or a directory to any path of any machine, so that it can be resumed: the same call after an interruption
 * skips files that are complete and continues partial ones. The copy takes the name of the target; entries of an existing
 * directory that are not in the source stay. Contents are compared by checksum and sent again where they arrived damaged,
 * and a lost connection that returns is resumed. Modes, times and links are kept; executors without `resume` get contents
 * only, compared by reading them back.
 *
 * Rejects with a `FileError` if nothing could be copied, or with the reason of the signal. Entries below a directory that
 * could not be copied are in the result.
 */
export async function copyFiles(ends: CopyRoute, options: CopyOptions = {}): Promise<CopyResult> {
	const route = toTransferRoute(ends);
	readOptions<CopyOptions>(options, COPY_OPTIONS, 'copyFiles()');
	const {overwrite = true, sync = true, signal = new AbortController().signal} = options;
	signal.throwIfAborted();
	const stats = new CopyStats(options);
	const context: CopyContext = {signal, stats, overwrite, sync, observer: options};
	await wrapFileErrors(route.to.path, async () => runTask(await abortable(planCopy(route), signal), context));
	return {...stats.summary, failures: stats.failures};
}
