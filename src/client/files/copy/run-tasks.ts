import {abortable, waitAtMost} from '../../../shared/async/timeout.js';
import {describePath, uriParent} from '../../paths.js';
import {FileError, isDisconnected} from '../file-error.js';
import type {UriLocation} from '../file-location.js';
import type {ListedEntry} from '../files.js';
import {type CopyContext, continueOnFailure} from './copy-context.js';
import {copyFileFallback, copyTreeFallback} from './copy-fallback.js';
import {copyFile} from './copy-file.js';
import type {CopyTask} from './copy-plan.js';
import type {CopyStats} from './copy-stats.js';
import {copyTree} from './copy-tree.js';
import {guardLinks, rootedAt} from './guard-links.js';
import {TreePosition} from './tree-position.js';
import {beginMarkedTree, removeMarker} from './unfinished-tree.js';

/** Attempts in a row that get no further before a lost connection is given up. */
const MAX_FAILED_ATTEMPTS = 5;
/** Pause before the first retry; doubled for each one after it. */
const FIRST_PAUSE_MS = 250;
/** Time that an aborted copy has to stop by itself: calls over a dead connection never return. */
const ABORT_GRACE_MS = 500;

/** Runs the tasks in order. A task that fails is recorded and the next one runs; throws only what ends all of them. */
export function runTasks(tasks: readonly CopyTask[], context: CopyContext): Promise<void> {
	return supervise(tasks, context, async () => {
		for (const task of tasks) await continueOnFailure(context, task.from, () => runWithRetries(task, context));
	});
}

/** Runs one task and throws its failure; failures of entries below a directory are recorded. */
export function runTask(task: CopyTask, context: CopyContext): Promise<void> {
	return supervise([task], context, () => runWithRetries(task, context));
}

/** Counts the bytes of the tasks meanwhile, if anybody observes the progress; rejects soon after the signal is aborted. */
async function supervise(
	tasks: readonly CopyTask[],
	{signal, stats, observer}: CopyContext,
	run: () => Promise<void>,
): Promise<void> {
	const counting = new AbortController();
	if (observer.onProgress) {
		countBytes(tasks, AbortSignal.any([signal, counting.signal])).then(
			bytes => stats.setTotal(bytes),
			// The progress has no total then; the copy itself reports why a source cannot be listed.
			() => {},
		);
	}
	const running = run();
	try {
		await abortable(running, signal);
	} catch (error) {
		if (!signal.aborted) throw error;
		const stopped = running.catch(() => {});
		await waitAtMost(stopped, ABORT_GRACE_MS);
	} finally {
		counting.abort();
	}
	signal.throwIfAborted();
}

/** Bytes of all files; undefined where an executor cannot list them. */
async function countBytes(tasks: readonly CopyTask[], signal: AbortSignal): Promise<number | undefined> {
	let bytes = 0;
	for (const {from} of tasks) {
		if (!(await from.files.supports('resume'))) return undefined;
		for await (const entry of from.files.list(from.path, {signal})) if (entry.kind === 'file') bytes += entry.size;
	}
	return bytes;
}

/** State of a task that outlives a lost connection. */
class TaskProgress {
	readonly position = new TreePosition();
	/** Files that were copied, by URI, where an executor cannot tell. */
	readonly copied = new Set<string>();
	/** Failures before the task that another attempt may not meet. */
	readonly remediable: number;

	constructor({remediable}: CopyStats) {
		this.remediable = remediable;
	}
}

/** After a lost connection the task is run again: entries that are at the target are found and skipped. */
async function runWithRetries(task: CopyTask, context: CopyContext): Promise<void> {
	const {signal, stats, observer} = context;
	const progress = new TaskProgress(stats);
	try {
		for (let [failedAttempts, farthest] = [0, 0]; ; ) {
			stats.startAttempt();
			try {
				await runOnce(task, context, progress);
				return;
			} catch (error) {
				if (signal.aborted || !isDisconnected(error)) throw error;
				// Bytes that are sent again after each loss are no progress.
				failedAttempts = stats.reached > farthest ? 1 : failedAttempts + 1;
				farthest = Math.max(farthest, stats.reached);
				if (failedAttempts > MAX_FAILED_ATTEMPTS) throw error;
				stats.pace.shrink();
				observer.onRetry?.(error);
				await waitAtMost(new Promise(() => {}), FIRST_PAUSE_MS * 2 ** (failedAttempts - 1), signal);
				signal.throwIfAborted();
			}
		}
	} finally {
		stats.finishTask();
	}
}

async function runOnce(
	{from, to: target, kind, marker}: CopyTask,
	given: CopyContext,
	progress: TaskProgress,
): Promise<void> {
	const sync = given.sync !== false && (await target.files.supports('sync'));
	if (!sync) given.stats.skipSync();
	const context = {...given, sync};
	const to = await guardLinks({
		...target,
		root: target.root ?? (kind === 'directory' ? target.path : uriParent(target.path)),
	});
	const isNew = marker !== undefined && (await beginMarkedTree(target, marker, sync));
	const limiting = (await from.files.supports('resume'))
		? (await to.files.supports('resume'))
			? undefined
			: to
		: from;
	if (limiting) {
		context.stats.weakenCheck();
		context.observer.onFallback?.(limiting);
		if (kind === 'directory') await copyTreeFallback(from, to, context, progress.copied);
		else await copyFileFallback(from, to, context);
	} else if (kind === 'directory')
		await copyTree(await rootedAt(from), to, context, {position: progress.position, isNew});
	else await copyFile({from, to, source: await describeFile(from)}, context);
	// A copy that would get further with another attempt is found by its marker.
	if (marker !== undefined && context.stats.remediable === progress.remediable) await removeMarker(target, marker);
}

async function describeFile({files, path}: UriLocation): Promise<ListedEntry> {
	for await (const entry of files.list(path, {depth: 0})) {
		if (entry.kind === 'file') return entry;
	}
	throw new FileError('failed', 'it is no file any more', {path: describePath(path)});
}
