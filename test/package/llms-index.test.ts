import {existsSync, readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {expect, test} from 'vitest';
import {COMMANDS} from '../../src/cli/commands/command-list.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const INDEX = readFileSync(join(ROOT, 'llms.txt'), 'utf8');
const LINKS = [...INDEX.matchAll(/^- \[(.+?)\]\((.+?)\): \S/gm)].map(([, title, path]) => ({
	title: title!,
	path: path!,
}));
/** Larger than that, it is no index. */
const MAX_INDEX_BYTES = 10 * 1024;

test('llms.txt lists every page of the documentation, once and with a line about it', () => {
	const pages = readdirSync(join(ROOT, 'docs'), {recursive: true, encoding: 'utf8'});
	const listed = LINKS.map(({path}) => path).filter(path => path.startsWith('docs/'));
	expect(listed.sort()).toEqual(
		pages
			.filter(name => name.endsWith('.md'))
			.map(name => `docs/${name}`)
			.sort(),
	);
});

test('llms.txt lists every command', () => {
	const titles = LINKS.map(({title}) => title).filter(title => title.startsWith('longarm '));
	expect(titles.sort()).toEqual(COMMANDS.map(({name}) => `longarm ${name}`).sort());
});

test('every link of llms.txt leads to a file', () => {
	const links = [...INDEX.matchAll(/\]\((.+?)\)/g)].map(match => match[1]!);
	expect(links.filter(link => !existsSync(join(ROOT, link)))).toEqual([]);
	expect(links).toHaveLength(LINKS.length);
});

test('llms.txt stays short and holds three examples', () => {
	expect(Buffer.byteLength(INDEX)).toBeLessThan(MAX_INDEX_BYTES);
	expect(INDEX.match(/^```ts$/gm)).toHaveLength(3);
});
