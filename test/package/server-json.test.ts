import {readFileSync} from 'node:fs';
import {expect, test} from 'vitest';

const read = (name: string): unknown => JSON.parse(readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8'));

test('server.json describes this version of the package to the registry of MCP servers', () => {
	const {name, version} = read('package.json') as {name: string; version: string};
	const description = read('server.json') as {name: string; description: string; packages: unknown[]};
	expect(description).toMatchObject({
		version,
		packages: [{registryType: 'npm', identifier: name, version, transport: {type: 'stdio'}}],
	});
	// Bounds of the registry.
	expect(description.description.length).toBeLessThanOrEqual(100);
	expect(description.name).toMatch(/^[\w.-]+\/[\w.-]+$/);
	expect((read('package.json') as {mcpName?: string}).mcpName).toBe(description.name);
});
