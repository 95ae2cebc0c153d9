import {readdirSync, readFileSync} from 'node:fs';
import {dirname, join, relative} from 'node:path';
import {fileURLToPath} from 'node:url';
import {expect, test} from 'vitest';

const source = fileURLToPath(new URL('../src', import.meta.url));

/** From the top down; folders on one line do not know each other. */
const LAYERS = [
	['cli'],
	['mcp'],
	['agent-tools'],
	['environments'],
	['client', 'server'],
	['adapters'],
	['processes', 'filesystem', 'network', 'sandbox'],
	['rpc'],
	['transports'],
	['protocol'],
	['shared'],
];
/** What has to run in a browser. */
const PORTABLE = ['protocol', 'rpc', 'client', 'agent-tools', 'client.ts'];

const files = readdirSync(source, {recursive: true, encoding: 'utf8'}).filter(name => name.endsWith('.ts'));
const imports = new Map(files.map(file => [file, importsOf(file)]));

function importsOf(file: string): string[] {
	const text = readFileSync(join(source, file), 'utf8');
	const found = text.matchAll(
		/(?:^|\n)\s*(?:import|export)\b[^'";]*?(?:from\s*)?['"]([^'"]+)['"]|import\(['"]([^'"]+)['"]\)/g,
	);
	return [...found].map(match => (match[1] ?? match[2])!);
}

function resolved(file: string, specifier: string): string {
	return relative(source, join(source, dirname(file), specifier)).replace(/\.js$/, '.ts');
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
		for (const specifier of specifiers.filter(name => name.startsWith('.'))) {
			const target = resolved(file, specifier);
			expect(files).toContain(target);
			const sameFolder = target.split('/')[0] === file.split('/')[0];
			if (!sameFolder && layerOf(target) <= layerOf(file)) wrong.push(`${file} -> ${target}`);
		}
	}
	expect(wrong).toEqual([]);
});

test('protocol, rpc and client never reach a Node built-in', () => {
	const wrong: string[] = [];
	for (const [file, specifiers] of reachableFrom(PORTABLE)) {
		for (const name of specifiers) if (name.startsWith('node:')) wrong.push(`${file} -> ${name}`);
	}
	expect(wrong).toEqual([]);
});

test('the sandbox knows nothing of JSON-RPC', () => {
	const wrong: string[] = [];
	for (const [file, specifiers] of imports) {
		if (!file.startsWith('sandbox/')) continue;
		for (const specifier of specifiers.filter(name => name.startsWith('.'))) {
			const target = resolved(file, specifier);
			if (/^(?:rpc|transports|protocol\/wire)\//.test(target)) wrong.push(`${file} -> ${target}`);
		}
	}
	expect(wrong).toEqual([]);
});

function reachableFrom(folders: readonly string[]): Map<string, string[]> {
	const reached = new Map<string, string[]>();
	const queue = files.filter(file => folders.includes(file.split('/')[0]!));
	while (queue.length > 0) {
		const file = queue.pop()!;
		if (reached.has(file)) continue;
		const specifiers = imports.get(file)!;
		reached.set(file, specifiers);
		queue.push(...specifiers.filter(name => name.startsWith('.')).map(name => resolved(file, name)));
	}
	return reached;
}
