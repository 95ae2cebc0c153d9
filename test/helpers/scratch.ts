import {chmodSync, lstatSync, mkdtempSync, readdirSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {onTestFinished} from 'vitest';

/** A directory of its own for a test; gone with it. */
export function scratchDirectory(): string {
	const path = mkdtempSync(join(tmpdir(), 'longarm-'));
	onTestFinished(() => removeTree(path));
	return path;
}

/** Removes a tree even where its directories forbid that, which they do to everybody but root. */
function removeTree(path: string): void {
	try {
		rmSync(path, {recursive: true, force: true});
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code !== 'EACCES') throw error;
		allowAll(Buffer.from(path));
		rmSync(path, {recursive: true, force: true});
	}
}

/** Names are bytes here: some are no text. */
function allowAll(directory: Buffer): void {
	chmodSync(directory, 0o700);
	for (const name of readdirSync(directory, {encoding: 'buffer'})) {
		const path = Buffer.concat([directory, Buffer.from('/'), name]);
		if (lstatSync(path).isDirectory()) allowAll(path);
	}
}
