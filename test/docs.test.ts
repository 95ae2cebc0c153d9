import {readdirSync, readFileSync} from 'node:fs';
import {fileURLToPath} from 'node:url';
import {expect, test} from 'vitest';
import {COMMANDS, SECTIONS} from '../src/cli/commands/command-list.js';
import {SETTINGS} from '../src/cli/commands/serve/serve-settings.js';
import {METHODS, requiredScope} from '../src/protocol/methods/method-table.js';
import {createHandlers} from '../src/server/handlers/all-handlers.js';
import {ERRORS} from '../src/shared/errors.js';

interface Renderers {
	readonly renderProtocol: (methods: typeof METHODS, scopes: typeof requiredScope) => string;
	readonly renderSettings: (settings: typeof SETTINGS) => string;
	readonly renderErrors: (errors: typeof ERRORS) => string;
	readonly readLimits: (source: string) => readonly {readonly name: string; readonly value: number | undefined}[];
	readonly renderLimits: (limits: ReturnType<Renderers['readLimits']>) => string;
	readonly renderCommands: (commands: typeof COMMANDS, sections: typeof SECTIONS) => Record<string, string>;
}

/** The scripts are plain JavaScript and have no types. */
async function script(name: string): Promise<Renderers> {
	return (await import(new URL(`../scripts/${name}`, import.meta.url).href)) as Renderers;
}

function page(name: string): string {
	return readFileSync(new URL(`../docs/${name}`, import.meta.url), 'utf8');
}

const {renderProtocol} = await script('render-protocol.mjs');
const {renderSettings, renderErrors} = await script('render-tables.mjs');
const {renderCommands} = await script('render-commands.mjs');
const {readLimits} = await script('lib/limits.mjs');
const {renderLimits} = await script('render-limits.mjs');
const served = new Set(Object.keys(createHandlers({shell: {name: 'sh', path: '/bin/sh'}}, {})));

test('docs/protocol.md is what `npm run docs` makes of the table of methods', () => {
	expect(page('protocol.md')).toBe(renderProtocol(METHODS, requiredScope));
	for (const name of Object.keys(METHODS)) expect(page('protocol.md')).toContain(`\n## ${name}\n`);
});

test('docs/protocol.md says of everything a client sends whether it is served', () => {
	const rows = [...page('protocol.md').matchAll(/^\| \[`(.+?)`\].*\| (yes|not yet) \|$/gm)];
	const fromClients = Object.entries(METHODS).filter(([, {from}]) => from === 'client');
	expect(rows.map(([, name]) => name)).toEqual(fromClients.map(([name]) => name));
	const yes = rows.filter(([, , answer]) => answer === 'yes').map(([, name]) => name);
	expect(new Set(yes)).toEqual(new Set([...served, 'initialized']));
});

test('docs/settings.md is what `npm run docs` makes of the settings', () => {
	expect(page('settings.md')).toBe(renderSettings(SETTINGS));
	for (const name of Object.keys(SETTINGS)) expect(page('settings.md')).toContain(`| \`--${name}`);
});

test('docs/errors.md is what `npm run docs` makes of the errors', () => {
	expect(page('errors.md')).toBe(renderErrors(ERRORS));
	for (const code of Object.keys(ERRORS)) expect(page('errors.md')).toContain(`| \`${code}\` |`);
});

test('docs/limits.md is what `npm run docs` makes of the upper bounds in the source', () => {
	const limits = readLimits(fileURLToPath(new URL('../src', import.meta.url)));
	expect(limits.find(({name}) => name === 'MAX_MESSAGE_BYTES')?.value).toBe(64 * 1024 * 1024);
	expect(page('limits.md')).toBe(renderLimits(limits));
});

test('docs/commands/ is what `npm run docs` makes of the definitions', () => {
	const pages = renderCommands(COMMANDS, SECTIONS);
	expect(readdirSync(new URL('../docs/commands', import.meta.url)).sort()).toEqual(Object.keys(pages).sort());
	for (const [name, text] of Object.entries(pages)) expect(page(`commands/${name}`)).toBe(text);
	for (const {name, examples} of COMMANDS) {
		const text = page(`commands/${name.replaceAll(' ', '-')}.md`);
		for (const {command} of examples) expect(text).toContain(command);
		expect(page('commands/README.md')).toContain(`[\`longarm ${name}\`](${name.replaceAll(' ', '-')}.md)`);
	}
});

/** Names in backticks that can only be code: paths below src, and words with a capital inside or in front. */
function codeNames(text: string): string[] {
	return [...text.matchAll(/`([^`\n]+)`/g)].map(match => match[1]!);
}

const sources = readdirSync(new URL('../src', import.meta.url), {recursive: true, encoding: 'utf8'});
const sourceText = sources
	.filter(file => file.endsWith('.ts'))
	.map(file => readFileSync(new URL(`../src/${file}`, import.meta.url), 'utf8'))
	.join('\n');

test.each(['ARCHITECTURE.md', 'CONTRIBUTING.md'])('%s names no class, function or file that does not exist', file => {
	const names = codeNames(readFileSync(new URL(`../${file}`, import.meta.url), 'utf8'));
	const identifiers = names.filter(name => /^[A-Za-z]+(?:\.[a-zA-Z]+)?$/.test(name) && /[A-Z]/.test(name));
	const missing = identifiers.filter(
		name => !name.split('.').every(word => new RegExp(`\\b${word}\\b`).test(sourceText)),
	);
	expect(identifiers.length).toBeGreaterThan(2);
	expect(missing).toEqual([]);
	const paths = names.filter(name => /^(?:src\/)?[a-z-]+(?:\/[\w*-]+)+(?:\.\w+|\/)?$/.test(name));
	const existing = [...sources, ...sources.map(name => `src/${name}`)];
	const folders = ['bench', 'docs', 'scripts', 'test', 'dist', 'longarm', 'fs', 'process', 'forward', 'environment'];
	const unknown = paths.filter(path => {
		if (folders.includes(path.split('/')[0]!)) return false;
		const pattern = new RegExp(`^${path.replace(/\/$/, '').replaceAll('*', '[\\w-]+').replaceAll('.', '\\.')}$`);
		return !existing.some(name => pattern.test(name));
	});
	expect(unknown).toEqual([]);
});
