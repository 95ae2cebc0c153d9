import {chmodSync, lstatSync, mkdtempSync, readdirSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {onTestFinished} from 'vitest';

/** A temporary directory; removed at the end of the test. */
export function scratchDirectory(): string {
	const path = mkdtempSync(join(tmpdir(), 'longarm-'));
	onTestFinished(() => removeTree(path));
	return path;
}

/** Removes a tree even if its directories are not writable, which stops every user but root. */
function removeTree(path: string): void {
	try {
		rmSync(path, {recursive: true, force: true});
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code !== 'EACCES') throw error;
		allowAll(Buffer.from(path));
		rmSync(path, {recursive: true, force: true});
	}
}

/** Works on byte paths: some names are not UTF-8. */
function allowAll(directory: Buffer): void {
	chmodSync(directory, 0o700);
	for (const name of readdirSync(directory, {encoding: 'buffer'})) {
		const path = Buffer.concat([directory, Buffer.from('/'), name]);
		if (lstatSync(path).isDirectory()) allowAll(path);
	}
}
