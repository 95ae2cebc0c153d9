import {mkdir, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import type {Communicated} from '../../client/run/communicate.js';
import type {ItemAttempt} from '../item-worker.js';

const PRIVATE_DIRECTORY = 0o700;
const PRIVATE_FILE = 0o600;
const MAX_NAME = 80;

/** Where the output of attempts is kept. */
export interface KeptLogs {
	write(attempt: ItemAttempt, output: Pick<Communicated, 'stdout' | 'stderr'>): Promise<void>;
}

/** Files with the output of attempts: `<row>-<item>.<attempt>.out` and `.err`; none for what is empty. */
export class AttemptLogs implements KeptLogs {
	readonly #directory: string;
	#made: Promise<unknown> | undefined;

	constructor(directory: string) {
		this.#directory = directory;
	}

	async write(attempt: ItemAttempt, {stdout, stderr}: Communicated): Promise<void> {
		const streams = [
			['out', stdout],
			['err', stderr],
		] as const;
		const filled = streams.filter(([, {totalBytes}]) => totalBytes > 0);
		if (filled.length === 0) return;
		this.#made ??= mkdir(this.#directory, {recursive: true, mode: PRIVATE_DIRECTORY});
		await this.#made;
		const name = logName(attempt);
		await Promise.all(
			filled.map(([suffix, {text}]) =>
				writeFile(join(this.#directory, `${name}.${suffix}`), text, {mode: PRIVATE_FILE}),
			),
		);
	}
}

/** An id may hold anything, a path say; the number of the row tells items apart whose names become the same. */
function logName({rowIndex, itemId, attempt}: ItemAttempt): string {
	return `${rowIndex + 1}-${itemId.replaceAll(/[^\w.-]/g, '_').slice(0, MAX_NAME)}.${attempt}`;
}
