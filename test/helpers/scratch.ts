import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {onTestFinished} from 'vitest';

/** A directory of its own for a test; gone with it. */
export function scratchDirectory(): string {
	const path = mkdtempSync(join(tmpdir(), 'longarm-'));
	onTestFinished(() => rmSync(path, {recursive: true, force: true}));
	return path;
}
