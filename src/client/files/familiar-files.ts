import {type Path, toPathUri, uriParent} from '../paths.js';
import {FileError, isNotFound} from './file-error.js';
import type {
	AccessOptions,
	DirectoryEntry,
	Files,
	FollowOptions,
	Metadata,
	RemovalOptions,
	WriteOptions,
} from './files.js';

/** Words of Linux and macOS about a path that goes on behind a file. */
const BELOW_FILE = /\(os error 20\)$/;

/** The names of `node:fs` for operations of any machine, with its defaults. */
export abstract class FamiliarFiles
	implements Pick<Files, 'stat' | 'exists' | 'readdir' | 'mkdir' | 'rm' | 'createDirectory' | 'metadata' | 'remove'>
{
	abstract createDirectory(path: Path, options?: FollowOptions & {readonly recursive?: boolean}): Promise<void>;
	abstract metadata(path: Path, options?: FollowOptions): Promise<Metadata>;
	abstract readDirectory(path: Path, options?: AccessOptions): Promise<DirectoryEntry[]>;
	abstract remove(path: Path, options?: RemovalOptions): Promise<void>;

	stat(path: Path, options?: FollowOptions): Promise<Metadata> {
		return this.metadata(path, options);
	}

	async exists(path: Path, options?: FollowOptions): Promise<boolean> {
		try {
			await this.metadata(path, options);
			return true;
		} catch (error) {
			if (isNotFound(error) || isBelowFile(error)) return false;
			throw error;
		}
	}

	readdir(path: Path, options?: AccessOptions): Promise<DirectoryEntry[]> {
		return this.readDirectory(path, options);
	}

	mkdir(path: Path, options: FollowOptions & {readonly recursive?: boolean} = {}): Promise<void> {
		return this.createDirectory(path, {...options, recursive: options.recursive ?? false});
	}

	rm(path: Path, options: RemovalOptions = {}): Promise<void> {
		return this.remove(path, {...options, recursive: options.recursive ?? false, force: options.force ?? false});
	}
}

/** Writes a file; with `recursive`, a missing directory above it is created first. */
export async function withParents(
	files: Pick<Files, 'createDirectory'>,
	path: Path,
	{recursive, followSymlinks, root, sandbox}: WriteOptions,
	write: () => Promise<void>,
): Promise<void> {
	try {
		await write();
	} catch (error) {
		if (!recursive || !isNotFound(error)) throw error;
		await files.createDirectory(uriParent(toPathUri(path)), {followSymlinks, root, sandbox, recursive});
		await write();
	}
}

function isBelowFile(error: unknown): boolean {
	return error instanceof FileError && BELOW_FILE.test(error.message);
}
