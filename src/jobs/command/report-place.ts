import {join} from 'node:path';
import {isNotFound} from '../../client/files/file-error.js';
import type {Environment} from '../../environments/environment.js';
import {randomHex} from '../../shared/random-id.js';
import {MAX_RESULT_BYTES} from '../engine/acceptance.js';
import type {ItemAttempt} from '../item-worker.js';

const PRIVATE_DIRECTORY = 0o700;
const NAME_BYTES = 16;
/** Suffix of the file that asks to stop the job. */
export const STOP_SUFFIX = '-stop';

/** A report that a worker left in a file. */
export type LeftReport =
	| {readonly kind: 'none'}
	| {readonly kind: 'invalid'; readonly error: string}
	| {readonly kind: 'result'; readonly result: unknown; readonly stop: boolean};

type Attempt = Pick<ItemAttempt, 'rowIndex' | 'attempt' | 'token'>;

/** A directory of an executor for the reports of one runner, which nobody can foresee; one below `/tmp` is made by this runner. */
export function newReportDirectory(): string {
	return `/tmp/longarm-fanout-${randomHex(NAME_BYTES)}`;
}

/** Directory of an executor where workers leave reports: of this machine in the job's own, elsewhere below `/tmp`. */
export class ReportPlace {
	readonly directory: string;
	readonly #environment: Environment;

	constructor(environment: Environment, directory: string) {
		this.#environment = environment;
		this.directory = directory;
	}

	/** Path of the report of an attempt. Nobody else can foresee it. */
	pathOf({rowIndex, attempt, token}: Attempt): string {
		return join(this.directory, `${rowIndex}.${attempt}.${token.slice(0, 16)}.json`);
	}

	/**
	 * Makes the directory. Of another machine it must not exist: in `/tmp` anybody could have made it, or a link in its place, and
	 * would see and replace the reports.
	 */
	async make(): Promise<void> {
		const {files, kind} = this.#environment;
		if (kind === 'local') return files.createDirectory(this.directory);
		if (await files.supports('resume')) {
			await files.createDirectory(this.directory, {recursive: false});
			const [failure] = await files.setAttributes(this.directory, [{name: '', mode: PRIVATE_DIRECTORY}]);
			if (failure) throw new Error(`${this.directory} cannot be made private: ${failure.message}`);
			return;
		}
		// A server that cannot change modes of files.
		await this.#environment.run(['mkdir', '-m', PRIVATE_DIRECTORY.toString(8), this.directory]);
	}

	/** Reads and removes the report of an attempt. Rejects when the connection is lost. */
	async take(attempt: Attempt): Promise<LeftReport> {
		const {files} = this.#environment;
		const path = this.pathOf(attempt);
		let text: string | undefined;
		try {
			if (!(await files.metadata(path)).isFile) return {kind: 'invalid', error: 'the report is no file'};
			text = await this.#read(path);
		} catch (error) {
			if (isNotFound(error)) return {kind: 'none'};
			throw error;
		}
		if (text === undefined) return {kind: 'invalid', error: `the report has more than ${MAX_RESULT_BYTES} bytes`};
		const stop = await files.exists(path + STOP_SUFFIX);
		await Promise.all([files.remove(path), ...(stop ? [files.remove(path + STOP_SUFFIX)] : [])]);
		try {
			return {kind: 'result', result: JSON.parse(text), stop};
		} catch (error) {
			return {kind: 'invalid', error: `the report is not JSON: ${(error as Error).message}`};
		}
	}

	/** Removes the directory. */
	async remove(): Promise<void> {
		await this.#environment.files.remove(this.directory, {recursive: true, force: true});
	}

	/** Undefined for one that is too long, whatever its size was said to be. */
	async #read(path: string): Promise<string | undefined> {
		const blocks: Uint8Array[] = [];
		let bytes = 0;
		for await (const block of this.#environment.files.readStream(path)) {
			bytes += block.length;
			if (bytes > MAX_RESULT_BYTES) return undefined;
			blocks.push(block);
		}
		return Buffer.concat(blocks).toString();
	}
}
