import {randomBytes} from 'node:crypto';
import {open, readFile, realpath, rename, unlink} from 'node:fs/promises';
import {basename, dirname, join} from 'node:path';

const ROOT = 0;

/** A file as it shall be written. */
export interface Replacement {
	/** Its content so far; undefined if there is no such file. */
	readonly before: string | undefined;
	readonly after: string;
	readonly mode: number;
	/** The file of a user stays his if root writes it. */
	readonly owner?: {readonly uid: number; readonly gid: number} | undefined;
}

/** The file was changed by another program since it was read. */
export class ChangedMeanwhileError extends Error {
	override readonly name = 'ChangedMeanwhileError';
}

/** Replaces a file atomically, by a new one that is renamed; throws a `ChangedMeanwhileError` if it is not as it was. */
export async function replaceTextFile(path: string, {before, after, mode, owner}: Replacement): Promise<void> {
	const temporary = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString('hex')}`);
	try {
		const file = await open(temporary, 'wx', mode);
		try {
			await file.writeFile(after);
			// The mode of a new file is cut by the umask.
			await file.chmod(mode);
			if (owner && process.geteuid?.() === ROOT) await file.chown(owner.uid, owner.gid);
			await file.sync();
		} finally {
			await file.close();
		}
		if ((await readIfExists(path)) !== before)
			throw new ChangedMeanwhileError(`${path} was changed meanwhile; try again`);
		await rename(temporary, path);
	} catch (error) {
		await unlink(temporary).catch(() => {});
		throw error;
	}
}

/** The file behind a link, which stays a link when that is replaced. */
export async function resolveLink(path: string): Promise<string> {
	try {
		return await realpath(path);
	} catch {
		return path;
	}
}

/** Undefined if there is no such file. */
export async function readIfExists(path: string): Promise<string | undefined> {
	try {
		return await readFile(path, 'utf8');
	} catch (cause) {
		if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
		throw cause;
	}
}
