import {closeSync, openSync, readSync, statSync} from 'node:fs';
import {join} from 'node:path';
import type {JobDescription} from '../../../jobs/job-description.js';
import {JOB_FILES, listJobIds, readDescription, shortJobId} from '../../../jobs/store/job-directory.js';
import {findLockHolder} from '../../../jobs/store/job-lock.js';

const TAIL_BYTES = 4096;

/** Another job of the same command whose runner is gone before the end. */
export function findUnfinishedJob(jobsDirectory: string, job: JobDescription): string | undefined {
	const isSame = (other: JobDescription): boolean =>
		other.jobId !== job.jobId &&
		other.inputHash === job.inputHash &&
		other.inputPath === job.inputPath &&
		JSON.stringify([other.work, other.rules]) === JSON.stringify([job.work, job.rules]);
	for (const id of listJobIds(jobsDirectory)) {
		const directory = join(jobsDirectory, id);
		try {
			if (!isSame(readDescription(directory)) || isFinished(join(directory, JOB_FILES.journal))) continue;
			if (!findLockHolder(join(directory, JOB_FILES.lock))) return shortJobId(id);
		} catch {
			// One that cannot be read cannot be resumed either.
		}
	}
	return undefined;
}

/** The last record of a finished job says so. */
function isFinished(journal: string): boolean {
	const {size} = statSync(journal);
	const tail = Buffer.alloc(Math.min(size, TAIL_BYTES));
	const fd = openSync(journal, 'r');
	try {
		readSync(fd, tail, 0, tail.length, size - tail.length);
	} finally {
		closeSync(fd);
	}
	return tail.toString().trimEnd().split('\n').at(-1)!.startsWith('{"type":"done"');
}
