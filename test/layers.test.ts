import {readdirSync, readFileSync} from 'node:fs';
import {basename, dirname, join, relative} from 'node:path';
import {fileURLToPath} from 'node:url';
import {expect, test} from 'vitest';

const source = fileURLToPath(new URL('../src', import.meta.url));

/** From the top down; folders on one line do not know each other. */
const LAYERS = [
	['cli'],
	['console'],
	['agent-loop'],
	['jobs'],
	['mcp'],
	['agent-tools'],
	['hub'],
	['environments'],
	['client', 'server'],
	['adapters'],
	['processes', 'filesystem', 'network', 'sandbox'],
	['rpc'],
	['transports'],
	['protocol'],
	['shared'],
];
/** Parts that run in a browser. The page of the console does, too: its bundler refuses built-ins, and types are no imports to it. */
const PORTABLE = ['protocol', 'rpc', 'client', 'agent-tools', 'client.ts'];

const MAX_FILE_LINES = 600;

const files = readdirSync(source, {recursive: true, encoding: 'utf8'}).filter(name => /\.tsx?$/.test(name));
const imports = new Map(files.map(file => [file, importsOf(file)]));

function importsOf(file: string): string[] {
	const text = readFileSync(join(source, file), 'utf8');
	const found = text.matchAll(
		/(?:^|\n)\s*(?:import|export)\b[^'";]*?(?:from\s*)?['"]([^'"]+)['"]|import\(['"]([^'"]+)['"]\)/g,
	);
	return [...found].map(match => (match[1] ?? match[2])!);
}

function resolved(file: string, specifier: string): string {
	const target = relative(source, join(source, dirname(file), specifier)).replace(/\.js$/, '.ts');
	return files.includes(`${target}x`) ? `${target}x` : target;
}

function layerOf(file: string): number {
	const folder = file.split('/')[0]!;
	return LAYERS.findIndex(names => names.includes(folder));
}

test('every folder of the source belongs to a layer', () => {
	const folders = files.filter(file => file.includes('/'));
	expect(folders.filter(file => layerOf(file) < 0)).toEqual([]);
	expect(folders.length).toBeGreaterThan(20);
});

test('imports point down only, and never sideways', () => {
	const wrong: string[] = [];
	for (const [file, specifiers] of imports) {
		if (!file.includes('/')) continue;
		for (const specifier of specifiers.filter(name => name.startsWith('.') && !name.endsWith('.css'))) {
			const target = resolved(file, specifier);
			expect(files).toContain(target);
			const sameFolder = target.split('/')[0] === file.split('/')[0];
			if (!sameFolder && layerOf(target) <= layerOf(file)) wrong.push(`${file} -> ${target}`);
		}
	}
	expect(wrong).toEqual([]);
});

test('parts that run in a browser never reach a Node built-in', () => {
	const wrong: string[] = [];
	for (const [file, specifiers] of reachableFrom(PORTABLE)) {
		for (const name of specifiers) if (name.startsWith('node:')) wrong.push(`${file} -> ${name}`);
	}
	expect(wrong).toEqual([]);
});

test('the sandbox knows nothing of RPC', () => {
	const reached = [...reachableFrom(['sandbox']).keys()];
	expect(reached.filter(file => /^(rpc|transports|server|client)\//.test(file))).toEqual([]);
	const own = files.filter(file => file.startsWith('sandbox/'));
	const imported = own.flatMap(file => imports.get(file)!.map(name => resolved(file, name)));
	expect(imported.filter(file => file.startsWith('protocol/wire/'))).toEqual([]);
});

test('only the MCP server imports the MCP SDK, and only the half for servers, as docs/mcp.md says', () => {
	const users = [...imports].filter(([, names]) => names.some(name => name.startsWith('@modelcontextprotocol/')));
	const names = users.flatMap(([, all]) => all.filter(name => name.startsWith('@modelcontextprotocol/')));
	expect(names.filter(name => !/^@modelcontextprotocol\/server(?:\/|$)/.test(name))).toEqual([]);
	expect(users.filter(([file]) => !file.startsWith('mcp/server/'))).toEqual([]);
	expect([...reachableFrom(['mcp/index.ts']).keys()].filter(file => file.startsWith('mcp/server/'))).toEqual([]);
	const {dependencies} = JSON.parse(readFileSync(join(source, '../package.json'), 'utf8')) as {dependencies: object};
	expect(Object.keys(dependencies).filter(name => name.startsWith('@modelcontextprotocol/'))).toEqual([
		'@modelcontextprotocol/server',
	]);
});

test('no file of logic is longer than 600 lines', () => {
	const lengths = files.map(file => [file, readFileSync(join(source, file), 'utf8').split('\n').length - 1] as const);
	expect(lengths.filter(([, length]) => length > MAX_FILE_LINES)).toEqual([]);
});

test('no file name exists twice', () => {
	const names = files.map(file => basename(file)).filter(name => name !== 'index.ts');
	expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});

test('no exported name is defined twice', () => {
	const names = files.flatMap(file => definedIn(file));
	expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});

function definedIn(file: string): string[] {
	const text = readFileSync(join(source, file), 'utf8');
	const found = text.matchAll(/^export (?:abstract |async )*(?:type|interface|class|function\*?|const|enum) (\w+)/gm);
	// An overload defines nothing new.
	return [...new Set([...found].map(match => match[1]!))];
}

function reachableFrom(folders: readonly string[]): Map<string, string[]> {
	const reached = new Map<string, string[]>();
	const queue = files.filter(file => folders.includes(file) || folders.includes(file.split('/')[0]!));
	while (queue.length > 0) {
		const file = queue.pop()!;
		if (reached.has(file)) continue;
		const specifiers = imports.get(file)!;
		reached.set(file, specifiers);
		const own = specifiers.filter(name => name.startsWith('.') && !name.endsWith('.css'));
		queue.push(...own.map(name => resolved(file, name)));
	}
	return reached;
}
