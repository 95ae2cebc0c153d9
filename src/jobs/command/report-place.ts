import {join} from 'node:path';
import {isNotFound} from '../../client/files/file-error.js';
import type {Environment} from '../../environments/environment.js';
import {MAX_RESULT_BYTES} from '../engine/acceptance.js';
import type {ItemAttempt} from '../item-worker.js';

const PRIVATE_DIRECTORY = 0o700;
/** Suffix of the file that asks to stop the job. */
export const STOP_SUFFIX = '-stop';

/** A report that a worker left in a file. */
export type LeftReport =
	| {readonly kind: 'none'}
	| {readonly kind: 'invalid'; readonly error: string}
	| {readonly kind: 'result'; readonly result: unknown; readonly stop: boolean};

/** Directory of an executor where workers leave reports: of this machine in the job's own, elsewhere below `/tmp`. */
export class ReportPlace {
	readonly #environment: Environment;
	readonly #directory: string;
	readonly #isOurs: boolean;
	#made: Promise<void> | undefined;

	constructor(environment: Environment, jobId: string, localDirectory: string) {
		this.#environment = environment;
		this.#isOurs = environment.kind === 'local';
		this.#directory = this.#isOurs ? localDirectory : `/tmp/longarm-fanout-${jobId}`;
	}

	/** Path of the report of an attempt. Nobody else can foresee it. */
	pathOf({rowIndex, attempt, token}: Pick<ItemAttempt, 'rowIndex' | 'attempt' | 'token'>): string {
		return join(this.#directory, `${rowIndex}.${attempt}.${token.slice(0, 16)}.json`);
	}

	/** Makes the directory, once. */
	prepare(): Promise<void> {
		this.#made ??= this.#make();
		this.#made.catch(() => {
			this.#made = undefined;
		});
		return this.#made;
	}

	/** Reads and removes the report of an attempt. Rejects when the connection is lost. */
	async take(attempt: Pick<ItemAttempt, 'rowIndex' | 'attempt' | 'token'>): Promise<LeftReport> {
		const {files} = this.#environment;
		const path = this.pathOf(attempt);
		let text: string;
		try {
			const {size = 0} = await files.metadata(path);
			if (size > MAX_RESULT_BYTES) return {kind: 'invalid', error: `the report has ${size} bytes`};
			text = await files.readText(path);
		} catch (error) {
			if (isNotFound(error)) return {kind: 'none'};
			throw error;
		}
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
		if (this.#made) await this.#environment.files.remove(this.#directory, {recursive: true, force: true});
	}

	async #make(): Promise<void> {
		const {files} = this.#environment;
		await files.createDirectory(this.#directory, {recursive: true});
		if (this.#isOurs) return;
		// Others on that machine may list /tmp; the results are none of their business.
		if (await files.supports('resume'))
			await files.setAttributes(this.#directory, [{name: '', mode: PRIVATE_DIRECTORY}]);
	}
}
