import {spawnSync} from 'node:child_process';
import {existsSync} from 'node:fs';
import {basename, dirname} from 'node:path';
import {expect, test} from 'vitest';
import {scratchDirectory} from '../helpers/scratch.js';

const MODULE = new URL('../../scripts/lib/scratch-folder.mjs', import.meta.url).href;

test.each(['', 'process.exit(3)', 'throw new Error("no")'])('folders are gone when the program ends: %s', end => {
	const below = scratchDirectory();
	const program = `
import {writeFileSync, existsSync} from 'node:fs';
import {scratchFolder} from ${JSON.stringify(MODULE)};
const folders = [scratchFolder('one'), scratchFolder('two', {below: ${JSON.stringify(`${below}/new`)}})];
for (const folder of folders) writeFileSync(folder + '/file', '');
console.log(JSON.stringify(folders));
${end}`;
	const {stdout} = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {encoding: 'utf8'});
	const [one, two] = JSON.parse(stdout) as [string, string];
	expect(basename(one)).toMatch(/^longarm-one-/);
	expect(dirname(two)).toBe(`${below}/new`);
	expect([one, two].map(existsSync)).toEqual([false, false]);
});
