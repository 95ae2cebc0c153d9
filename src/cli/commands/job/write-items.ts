import {createWriteStream} from 'node:fs';
import {mkdir, rename, rm} from 'node:fs/promises';
import {basename, dirname, extname, join} from 'node:path';
import {pipeline} from 'node:stream/promises';
import {uniquePartialFileName} from '../../../shared/partial-file-name.js';
import type {JobsClient} from './jobs-client.js';

const JSON_LINES = '.jsonl';

/** Fetches the output of a job; the file is replaced in one step when all of it is here. */
export async function writeItems(client: JobsClient, jobId: string, path: string): Promise<void> {
	const form = extname(path).toLowerCase() === JSON_LINES ? 'jsonl' : 'csv';
	await mkdir(dirname(path), {recursive: true});
	const partial = join(dirname(path), uniquePartialFileName(basename(path)));
	try {
		await pipeline(await client.readItems(jobId, form), createWriteStream(partial, {flags: 'wx', flush: true}));
		await rename(partial, path);
	} catch (error) {
		await rm(partial, {force: true});
		throw error;
	}
}
