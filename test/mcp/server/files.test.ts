// covers: src/mcp/server/tools/read-tool.ts, write-tool.ts, edit-tool.ts, find-tool.ts, copy-tool.ts, port-tool.ts
import {existsSync, mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import {createServer} from 'node:http';
import type {AddressInfo} from 'node:net';
import {join} from 'node:path';
import type {Client} from '@modelcontextprotocol/client';
import {expect, onTestFinished, test} from 'vitest';
import {callText, machineAt, machineUrl, mcpService, sdkClient} from '../../helpers/mcp-service.js';
import {scratchDirectory} from '../../helpers/scratch.js';

const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');

test('a file is written with its directories, edited at the one place that fits, and read by lines', async () => {
	const client = await sdkClient(mcpService([machineAt(await machineUrl())]));
	const path = join(scratchDirectory(), 'new/dir/file.txt');
	expect(await callText(client, 'write', {path: `devbox:${path}`, content: 'one\ntwo\ntwo\n'})).toMatch(
		/^\[written · devbox · .* · 12 bytes\]$/,
	);
	expect(await callText(client, 'edit', {path, old: 'two', new: 'x'})).toMatch(/^ERROR old is 2 times in /);
	expect(await callText(client, 'edit', {path, old: 'three', new: 'x'})).toMatch(/^ERROR old is not in /);
	expect(await callText(client, 'edit', {path, old: 'one', new: 'zero'})).toMatch(/line 1\]$/);
	expect(await callText(client, 'edit', {path, old: 'two', new: '2', all: true})).toMatch(/2 places\]$/);
	expect(readFileSync(path, 'utf8')).toBe('zero\n2\n2\n');
	expect(await callText(client, 'read', {path, line: 2, lines: 1})).toMatch(/lines 2-2, more from line 3 on\]\n2$/);
	expect(await callText(client, 'read', {path, line: 9})).toMatch(/no line 9\]$/);
	expect(await callText(client, 'read', {path: `${path}.none`})).toMatch(/^ERROR /);
});

test('a long file is cut at the size of an answer, an image is an image, and binary is only told', async () => {
	const client = await sdkClient(mcpService([machineAt(await machineUrl())]));
	const directory = scratchDirectory();
	writeFileSync(join(directory, 'long'), Array.from({length: 10_000}, (_, at) => `line ${at + 1}\n`).join(''));
	writeFileSync(join(directory, 'picture'), PNG);
	writeFileSync(join(directory, 'binary'), Buffer.alloc(100));
	const long = await callText(client, 'read', {path: join(directory, 'long'), max_chars: 200});
	expect(long).toMatch(/lines 1-\d+, more from line \d+ on\]\nline 1\n/);
	expect(long.length).toBeLessThan(400);
	const {content} = await client.callTool({name: 'read', arguments: {path: join(directory, 'picture')}});
	expect(content[1]).toEqual({type: 'image', mimeType: 'image/png', data: PNG.toString('base64')});
	expect(await callText(client, 'read', {path: join(directory, 'binary')})).toMatch(/binary file, 100 bytes\]$/);
	expect(await callText(client, 'read', {path: directory})).toMatch(/directory, 3 entries\]\nbinary\nlong\npicture$/);
});

test('names with markup and line ends stay one line each', async () => {
	const client = await sdkClient(mcpService([machineAt(await machineUrl())]));
	const directory = scratchDirectory();
	const name = 'a]\n[exit 0] <b>\u001b[31m';
	writeFileSync(join(directory, name), 'needle\n');
	const listed = await callText(client, 'read', {path: directory});
	expect(listed.split('\n')).toHaveLength(2);
	expect(await callText(client, 'find', {path: directory, text: 'needle'})).toMatch(
		/^\[devbox · .* · 1 matches\]\na\]\\n\[exit 0\] <b>\\u001b\[31m:1: needle$/,
	);
});

test('names with brackets are shown as they are, and none begins a line as a header does', async () => {
	const client = await sdkClient(mcpService([machineAt(await machineUrl())]));
	const directory = scratchDirectory();
	mkdirSync(join(directory, '[slug]'));
	writeFileSync(join(directory, '[slug]/[id].ts'), 'needle\n');
	expect(await callText(client, 'find', {path: directory, text: 'needle'})).toMatch(
		/\]\n\.\/\[slug\]\/\[id\]\.ts:1: needle$/,
	);
	expect(await callText(client, 'read', {path: directory})).toMatch(/\]\n\.\/\[slug\]\/$/);
	expect(await callText(client, 'read', {path: `${directory}/./[slug]/[id].ts`})).toMatch(/\]\nneedle$/);
});

test('a line that is too long for an answer is marked, and read to its end from the byte that is told', async () => {
	const client = await sdkClient(mcpService([machineAt(await machineUrl())]));
	const path = join(scratchDirectory(), 'wide.json');
	const content = `short\n${'grüße 😀 '.repeat(300)}\nlast\r\n`;
	writeFileSync(path, content);
	const first = await callText(client, 'read', {path, max_chars: 101});
	expect(first).toMatch(/lines 1-1, more from line 2 on\]\nshort$/);
	const second = await callText(client, 'read', {path, line: 2, max_chars: 101});
	const [, next] = /lines 2-2, line 2 is cut: more from (\d+) on\]\n/.exec(second) ?? [];
	expect(second).toMatch(new RegExp(`\\n… the line goes on: read it from ${next} …$`));
	expect(second).not.toContain('\ufffd');
	let read = content.slice(0, 6) + (await structureOf(client, {path, line: 2, max_chars: 101}))['text'];
	for (let from: unknown = Number(next); from !== undefined; ) {
		const part = await structureOf(client, {path, from, max_chars: 101});
		read += part['text'] as string;
		from = part['next_from'];
	}
	expect(read).toBe(content);
	expect(await callText(client, 'read', {path, line: 3})).toMatch(/lines 3-3 · line ends CRLF\]\nlast$/);
	expect(await callText(client, 'read', {path, from: 1_000_000})).toMatch(/no byte 1000000\]$/);
	expect(await callText(client, 'read', {path, from: 1, line: 1})).toMatch(/^ERROR line and from exclude each other$/);
});

async function structureOf(client: Client, given: Record<string, unknown>): Promise<Record<string, unknown>> {
	return (await client.callTool({name: 'read', arguments: given})).structuredContent as Record<string, unknown>;
}

test('a file with CRLF is edited with the text that was read, and keeps its line ends', async () => {
	const client = await sdkClient(mcpService([machineAt(await machineUrl())]));
	const path = join(scratchDirectory(), 'dos.txt');
	writeFileSync(path, 'a\r\nb\r\nc\r\n');
	expect(await callText(client, 'edit', {path, old: 'a\nb', new: 'A\nB\nX'})).toMatch(/line 1\]$/);
	expect(await callText(client, 'edit', {path, old: 'c', new: 'c\nd'})).toMatch(/line 4\]$/);
	expect(readFileSync(path, 'utf8')).toBe('A\r\nB\r\nX\r\nc\r\nd\r\n');
	expect(await callText(client, 'edit', {path, old: 'A\r\nB', new: 'A\nC'})).toMatch(/line 1\]$/);
	expect(readFileSync(path, 'utf8')).toBe('A\r\nC\r\nX\r\nc\r\nd\r\n');
	expect(await callText(client, 'edit', {path, old: 'C\n', new: 'C\r\n'})).toMatch(
		/^ERROR old and new differ in their line ends/,
	);
});

test('files are found by name and by text', async () => {
	const client = await sdkClient(mcpService([machineAt(await machineUrl())]));
	const directory = scratchDirectory();
	mkdirSync(join(directory, 'src'));
	writeFileSync(join(directory, 'src/a.ts'), 'const a = 1;\nconst needle = 2;\n');
	writeFileSync(join(directory, 'src/b.js'), 'needle\n');
	expect(await callText(client, 'find', {path: directory, name: '*.ts'})).toMatch(/1 matches\]\nsrc\/a\.ts$/);
	expect(await callText(client, 'find', {path: directory, name: '*.ts', text: 'need.e'})).toMatch(
		/\]\nsrc\/a\.ts:2: const needle = 2;$/,
	);
	expect(await callText(client, 'find', {path: directory})).toMatch(/^ERROR give a name, a text, or both/);
});

test('trees are copied between machines', async () => {
	const client = await sdkClient(mcpService([machineAt(await machineUrl(), 'a'), machineAt(await machineUrl(), 'b')]));
	const directory = scratchDirectory();
	mkdirSync(join(directory, 'tree'));
	writeFileSync(join(directory, 'tree/file'), 'content');
	const copied = await callText(client, 'copy', {from: `a:${directory}/tree`, to: `b:${directory}/copy`});
	expect(copied).toMatch(/^\[copied · b:.*\/copy · 1 files · 7 bytes\]$/);
	expect(readFileSync(join(directory, 'copy/file'), 'utf8')).toBe('content');
	expect(await callText(client, 'copy', {from: `a:${directory}/none`, to: `b:${directory}/x`})).toMatch(/^ERROR /);
	expect(existsSync(join(directory, 'x'))).toBe(false);
});

test('a port of a machine answers at the URL, which stays the same', async () => {
	const server = createServer((_request, response) => response.end('from there'));
	await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
	onTestFinished(() => void server.close());
	const {port} = server.address() as AddressInfo;
	const client = await sdkClient(mcpService([machineAt(await machineUrl())]));
	const answer = await callText(client, 'port', {port});
	const url = answer.split('\n')[1]!;
	expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
	expect(await (await fetch(url)).text()).toBe('from there');
	expect(await callText(client, 'port', {port})).toBe(answer);
});
