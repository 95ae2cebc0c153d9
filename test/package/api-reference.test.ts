import {readFileSync} from 'node:fs';
import {fileURLToPath} from 'node:url';
import {expect, test} from 'vitest';

interface Declaration {
	readonly name: string;
	readonly doc: string;
	readonly text: string;
}

interface PublicApi {
	readonly entries: readonly {readonly entry: string; readonly names: readonly Declaration[]}[];
	readonly unexported: readonly Declaration[];
}

interface Scripts {
	readonly readPublicApi: (root: string) => PublicApi;
	readonly renderApi: (api: PublicApi) => string;
}

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PAGE = readFileSync(`${ROOT}docs/api.md`, 'utf8');

/** The scripts are plain JavaScript and have no types. */
async function script(name: string): Promise<Scripts> {
	return (await import(new URL(`../../scripts/${name}`, import.meta.url).href)) as Scripts;
}

const {readPublicApi} = await script('lib/public-api.mjs');
const {renderApi} = await script('render-api.mjs');
const api = readPublicApi(ROOT);

test('docs/api.md is what `npm run docs` makes of the declarations', () => {
	expect(PAGE).toBe(renderApi(api));
});

test('docs/api.md describes every name that a program can import', async () => {
	const headings = new Set([...PAGE.matchAll(/^#### (\w+)$/gm)].map(match => match[1]));
	for (const {entry, names} of api.entries) {
		const module = (await import(entry)) as object;
		// Types are no members of the module, but every member is one of the names.
		expect(names.map(({name}) => name)).toEqual(expect.arrayContaining(Object.keys(module)));
		expect(names.filter(({name}) => !headings.has(name))).toEqual([]);
	}
});

test('every name that a program can import has a comment', () => {
	const names = api.entries.flatMap(entry => entry.names);
	expect(names.filter(({doc}) => doc === '').map(({name}) => name)).toEqual([]);
});

test('links inside docs/api.md lead to a heading', () => {
	const anchors = new Set(
		[...PAGE.matchAll(/^#+ (.+)$/gm)].map(match =>
			match[1]!
				.toLowerCase()
				.replace(/[^\w -]/g, '')
				.replaceAll(' ', '-'),
		),
	);
	const links = [...PAGE.matchAll(/\]\(#([^)]+)\)/g)].map(match => match[1]!);
	expect(links.length).toBeGreaterThan(100);
	expect(links.filter(link => !anchors.has(link))).toEqual([]);
});
