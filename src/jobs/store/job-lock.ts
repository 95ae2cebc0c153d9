import {linkSync, readFileSync, renameSync, rmSync} from 'node:fs';
import {replaceFile} from '../../processes/spill/state-files.js';
import {readProcessInfo} from '../../processes/tree/process-tree.js';
import {LongarmError} from '../../shared/errors.js';
import {randomId} from '../../shared/random-id.js';

/** Tries to take a lock that others are taking, too. */
const MAX_TRIES = 20;

/** The runner of a job, and how other programs of the same user reach it. */
export interface LockHolder {
	readonly pid: number;
	/** Tells the process from a later one with the same pid; empty where the system does not say. */
	readonly startTime: string;
	/** Address and secret for requests to the runner. */
	readonly url?: string | undefined;
	readonly secret?: string | undefined;
}

/** Exclusive right to run a job: a file with the pid and start time of its runner. A lock whose runner is gone is free. */
export class JobLock {
	readonly #path: string;
	#holder: LockHolder;

	/** Throws JOB_RUNNING if another program has it. */
	static take(path: string): JobLock {
		const holder = describeSelf();
		const own = `${path}.${randomId()}`;
		replaceFile(own, JSON.stringify(holder));
		try {
			for (let count = 0; count < MAX_TRIES; count++) {
				if (tryLink(own, path)) return new JobLock(path, holder);
				const other = readHolder(path);
				if (other && isAlive(other)) throw runningError(other);
				removeStale(path, other);
			}
		} finally {
			rmSync(own, {force: true});
		}
		throw new LongarmError('JOB_RUNNING', {message: 'several programs are taking the job at once'});
	}

	private constructor(path: string, holder: LockHolder) {
		this.#path = path;
		this.#holder = holder;
	}

	/** Tells other programs how to reach the runner. */
	announce(url: string, secret: string): void {
		this.#holder = {...this.#holder, url, secret};
		replaceFile(this.#path, JSON.stringify(this.#holder));
	}

	release(): void {
		rmSync(this.#path, {force: true});
	}
}

/** The living runner of a job. */
export function findLockHolder(path: string): LockHolder | undefined {
	const holder = readHolder(path);
	return holder && isAlive(holder) ? holder : undefined;
}

function tryLink(own: string, path: string): boolean {
	try {
		linkSync(own, path);
		return true;
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
		throw error;
	}
}

function readHolder(path: string): LockHolder | undefined {
	try {
		return JSON.parse(readFileSync(path, 'utf8')) as LockHolder;
	} catch {
		// It is gone, or was not written by us: nobody holds it.
		return undefined;
	}
}

/** Moved aside first and looked at again: another program may have taken the lock meanwhile. */
function removeStale(path: string, stale: LockHolder | undefined): void {
	const aside = `${path}.${randomId()}`;
	try {
		renameSync(path, aside);
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
		throw error;
	}
	const moved = readHolder(aside);
	if (moved && (moved.pid !== stale?.pid || moved.startTime !== stale.startTime)) tryLink(aside, path);
	rmSync(aside, {force: true});
}

function describeSelf(): LockHolder {
	return {pid: process.pid, startTime: readProcessInfo(process.pid)?.startTime ?? ''};
}

function isAlive({pid, startTime}: LockHolder): boolean {
	if (startTime !== '') return readProcessInfo(pid)?.startTime === startTime;
	try {
		process.kill(pid, 0);
		return true;
	} catch (error) {
		return (error as NodeJS.ErrnoException).code === 'EPERM';
	}
}

function runningError({pid}: LockHolder): LongarmError {
	return new LongarmError('JOB_RUNNING', {message: `the job is being run by process ${pid}`, context: {pid}});
}
