// covers: src/filesystem/copy-content.ts
import fs from 'node:fs';
import {join} from 'node:path';
import {expect, onTestFinished, test, vi} from 'vitest';
import {bytePath} from '../../src/filesystem/byte-path.js';
import * as files from '../../src/filesystem/index.js';
import {scratchDirectory} from '../helpers/scratch.js';

vi.mock('../../src/shared/node/copy-range.js', () => ({copyRange: async () => undefined}));

test('where the kernel cannot copy by itself, files of every size are copied, up to where they are cut off', async () => {
	for (const size of [0, 100, 64 * 1024, 300_000, 3 << 20]) {
		for (const cut of [size, Math.floor(size / 2)]) {
			const [from, to] = ['from', 'to'].map(name => join(scratchDirectory(), name)) as [string, string];
			const content = Buffer.alloc(size, 'longarm ');
			fs.writeFileSync(from, content, {mode: 0o640});
			const fstat = vi.spyOn(fs, 'fstatSync').mockImplementationOnce(fd => {
				const stats = fs.fstatSync(fd);
				fs.truncateSync(from, cut);
				return stats;
			});
			onTestFinished(() => fstat.mockRestore());
			await files.copy(bytePath(from), bytePath(to), {recursive: false});
			expect(fs.readFileSync(to).equals(content.subarray(0, cut))).toBe(true);
			expect(fs.statSync(to).mode & 0o7777).toBe(0o640);
		}
	}
});
