import * as copying from './copy-entry.js';
import * as digesting from './digest.js';
import * as directories from './directories.js';
import {toFileError} from './file-errors.js';
import * as metadata from './metadata.js';
import * as reading from './read-file.js';
import * as removing from './remove.js';
import * as renaming from './rename.js';
import * as walking from './walk.js';
import * as writing from './write-file.js';

export const canonicalize = translated(directories.canonicalize);
export const copy = translated(copying.copy);
export const createDirectory = translated(directories.createDirectory);
export const digest = translated(digesting.digest);
export const getMetadata = translated(metadata.getMetadata);
export const readDirectory = translated(directories.readDirectory);
export const readFile = translated(reading.readFile);
export const remove = translated(removing.remove);
export const rename = translated(renaming.rename);
export const walk = translated(walking.walk);
export const writeFile = translated(writing.writeFile);

/** The same operation, with the failures of the operating system as ours. */
export function translated<A extends readonly unknown[], T>(
	operation: (...parameters: A) => Promise<T>,
): (...parameters: A) => Promise<T> {
	return async (...parameters) => {
		try {
			return await operation(...parameters);
		} catch (error) {
			throw toFileError(error);
		}
	};
}
