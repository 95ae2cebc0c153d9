import {mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {scratchDirectory} from '../helpers/scratch.js';
import {execServer} from '../helpers/serving.js';
import {TestClient} from '../helpers/test-client.js';

const page = readFileSync(new URL('../../docs/transfer.md', import.meta.url), 'utf8');
const LEFT_OUT = '…';

test('the example of docs/transfer.md is what happens', async () => {
	const srv = scratchDirectory();
	mkdirSync(join(srv, 'site', 'images'), {recursive: true});
	writeFileSync(join(srv, 'site', 'index.html'), '<h1>hi</h1>\n');
	const client = await TestClient.overMemory(execServer()).initialize();
	const seen: Record<string, unknown> = {};
	const requests = [...page.matchAll(/^(\d) → (\S+) +(\{.*\})\n\1 ← (\{.*\})$/gm)];
	expect(requests).toHaveLength(6);
	for (const [, , method, params, result] of requests) {
		const asked = JSON.parse(params!.replace('/srv', srv)) as Record<string, unknown>;
		for (const key of Object.keys(asked)) if (asked[key] === LEFT_OUT) asked[key] = seen[key];
		const answer = await client.call(method!, asked);
		Object.assign(seen, answer);
		const expected = JSON.parse(result!) as Record<string, unknown>;
		for (const key of Object.keys(expected)) if (expected[key] === LEFT_OUT) expected[key] = answer[key];
		expect(answer).toEqual(expected);
	}
	expect(readFileSync(join(srv, 'copy', 'index.html'), 'utf8')).toBe('<h1>hi</h1>\n');
});
