import {setTimeout as delay} from 'node:timers/promises';
import {FileError} from '../../../client/files/file-error.js';
import type {ListedEntry} from '../../../client/files/files.js';
import {describeLocation, type Location} from '../../common/locations.js';
import {printable, printableReason} from '../../common/printable.js';
import {attempt, type CopyContext, isDisconnect} from './copy-context.js';
import {copyFile} from './copy-file.js';
import {copyPlainFile, copyPlainTree} from './copy-plain.js';
import type {CopyTask} from './copy-plan.js';
import {copyTree} from './copy-tree.js';

/** Attempts in a row that get nothing done before a lost link is given up. */
const MAX_FAILED_ATTEMPTS = 5;
const FIRST_PAUSE_MS = 250;

/** Does one task after the other. Throws only what ends all of them. */
export async function runTasks(tasks: readonly CopyTask[], context: CopyContext): Promise<void> {
	for (const task of tasks) {
		await attempt(context, task.from, () => untilDone(task, context));
		context.stats.endTask();
	}
}

/** After a lost link a task is gone through again: what is there is found and left alone. */
async function untilDone(task: CopyTask, context: CopyContext): Promise<void> {
	for (let vain = 0; ; ) {
		const {moved} = context.stats;
		context.stats.begin();
		try {
			await copy(task, context);
			return;
		} catch (error) {
			if (context.signal.aborted || !isDisconnect(error)) throw error;
			vain = context.stats.moved > moved ? 1 : vain + 1;
			if (vain > MAX_FAILED_ATTEMPTS) throw error;
			context.note(`the connection was lost (${printableReason(error)}); going on where it stopped`);
			await delay(FIRST_PAUSE_MS * 2 ** (vain - 1), undefined, {signal: context.signal});
		}
	}
}

async function copy(task: CopyTask, context: CopyContext): Promise<void> {
	const {from, to, kind} = task;
	const weak = (await canResume(from)) ? ((await canResume(to)) ? undefined : to) : from;
	if (!weak) {
		if (kind === 'directory') await copyTree(from, to, context);
		else await copyFile({from, to, source: await described(from)}, context);
		return;
	}
	context.stats.checked = 'read-back';
	context.note(
		`${printable(weak.environment.id)} cannot resume copies or keep modes; what is interrupted starts again`,
	);
	await (kind === 'directory' ? copyPlainTree : copyPlainFile)(from, to, context);
}

function canResume({files}: Location): Promise<boolean> {
	return files.supports('resume');
}

async function described(place: Location): Promise<ListedEntry> {
	for await (const entry of place.files.list(place.path, {depth: 0})) {
		if (entry.kind === 'file') return entry;
	}
	throw new FileError('failed', 'it is no file any more', {path: describeLocation(place)});
}
