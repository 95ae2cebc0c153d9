import {appendFileSync, existsSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {JOB_FILES} from '../store/job-directory.js';

const PRIVATE_FILE = 0o600;

/**
 * Directories that runners of a job have made on its executors, in a file of the job: a later runner looks there for the reports of
 * attempts that were running. Of a job without a directory on this machine nothing is recorded.
 */
export class RecordedPlaces {
	readonly #path: string | undefined;
	/** Directories of earlier runners, by the names of executors. */
	readonly #earlier: ReadonlyMap<string, readonly string[]>;

	constructor(directory: string) {
		this.#path = existsSync(directory) ? join(directory, JOB_FILES.places) : undefined;
		this.#earlier = this.#path === undefined ? new Map() : readPlaces(this.#path);
	}

	/** The latest first. */
	listEarlier(executor: string): readonly string[] {
		return this.#earlier.get(executor) ?? [];
	}

	add(executor: string, directory: string): void {
		if (this.#path === undefined) return;
		appendFileSync(this.#path, `${JSON.stringify({executor, directory})}\n`, {mode: PRIVATE_FILE});
	}
}

function readPlaces(path: string): Map<string, string[]> {
	const places = new Map<string, string[]>();
	for (const line of existsSync(path) ? readFileSync(path, 'utf8').split('\n') : []) {
		const place = parseLine(line);
		if (place) places.set(place.executor, [place.directory, ...(places.get(place.executor) ?? [])]);
	}
	return places;
}

/** Undefined for a line that is torn. */
function parseLine(line: string): {readonly executor: string; readonly directory: string} | undefined {
	try {
		return JSON.parse(line) as {executor: string; directory: string};
	} catch {
		return undefined;
	}
}
