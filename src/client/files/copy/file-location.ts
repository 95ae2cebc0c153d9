import type {Path} from '../../paths.js';
import {describePath} from '../../paths.js';
import {FileError} from '../file-error.js';
import type {Files} from '../files.js';

export interface FileLocation {
	readonly files: Files;
	readonly path: Path;
}

export async function isFree({files, path}: FileLocation): Promise<boolean> {
	try {
		await files.metadata(path);
		return false;
	} catch (error) {
		if (error instanceof FileError && error.code === 'not-found') return true;
		throw error;
	}
}

/** Early, so that nothing is sent in vain. */
export async function requireFreeTarget(place: FileLocation): Promise<void> {
	if (await isFree(place)) return;
	throw new FileError('refused', 'the target exists', {
		path: describePath(place.path),
		hint: 'Say overwrite: true to replace it.',
	});
}
