import * as copying from './copy-entry.js';
import * as digesting from './digest.js';
import * as directories from './directories.js';
import {toDomainFileError} from './file-errors.js';
import * as metadata from './metadata.js';
import * as reading from './read-file.js';
import * as removing from './remove.js';
import * as renaming from './rename.js';
import * as walking from './walk.js';
import * as writing from './write-file.js';

export const canonicalize = withFileErrors(directories.canonicalize);
export const copy = withFileErrors(copying.copy);
export const createDirectory = withFileErrors(directories.createDirectory);
export const digest = withFileErrors(digesting.digest);
export const getMetadata = withFileErrors(metadata.getMetadata);
export const readDirectory = withFileErrors(directories.readDirectory);
export const readFile = withFileErrors(reading.readFile);
export const remove = withFileErrors(removing.remove);
export const rename = withFileErrors(renaming.rename);
export const walk = withFileErrors(walking.walk);
export const writeFile = withFileErrors(writing.writeFile);

/** The same operation, with the failures of the operating system as ours. */
export function withFileErrors<A extends readonly unknown[], T>(
	operation: (...parameters: A) => Promise<T>,
): (...parameters: A) => Promise<T> {
	return async (...parameters) => {
		try {
			return await operation(...parameters);
		} catch (error) {
			throw toDomainFileError(error);
		}
	};
}
