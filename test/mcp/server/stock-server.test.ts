// covers: src/mcp/server/processes/session-process.ts, src/mcp/server/machines/machine-lack.ts
import {mkdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import type {Client} from '@modelcontextprotocol/client';
import {describe, expect, test} from 'vitest';
import {callText, stdioClient} from '../../helpers/mcp-service.js';
import {unless} from '../../helpers/needs.js';
import {askUntil} from '../../helpers/processes.js';
import {scratchDirectory} from '../../helpers/scratch.js';

const CODEX = process.env['CODEX_BIN'];

/** The command, with the stock server as its machine `cmd`. */
async function stockClient(): Promise<Client> {
	const home = scratchDirectory();
	const {client} = await stdioClient(`cmd:CODEX_HOME='${home}' '${CODEX}' exec-server --listen stdio`);
	return client;
}

describe('longarm mcp on the stock codex server', unless(CODEX ? undefined : 'CODEX_BIN names no stock codex'), () => {
	test('runs, waits, types and stops', async () => {
		// Instructions name a machine that could not be reached at once without its facts, as on a loaded machine.
		const client = await askUntil(stockClient, each => !each.getInstructions()?.includes('not reached yet'));
		expect(client.getInstructions()).toMatch(/^- cmd: linux, .*its processes are of this connection only$/m);
		expect(await callText(client, 'exec', {command: 'echo one; exit 4'})).toMatch(
			/^\[exit 4 · .* · cmd · p1 · 4 bytes\]\none$/,
		);
		const command = 'read -p "name: " n; echo "hello $n"; sleep 1000';
		expect(await callText(client, 'exec', {command, tty: true, name: 'greeter'})).toMatch(
			/^\[running .* silent\]\nname: $/,
		);
		expect(
			await callText(client, 'send', {id: 'greeter', text: 'Ada', keys: ['Enter'], until: {text: 'hello \\w+'}}),
		).toMatch(/^\[running .* found "hello Ada"\]/);
		expect(await callText(client, 'ps', {})).toMatch(
			/^\[cmd · .* · 1 processes; keeps no processes beyond this session\]\ngreeter running/,
		);
		expect(await callText(client, 'stop', {id: 'greeter'})).toMatch(/^\[ended: exit \d+ · cmd · greeter\]$/);
		expect(await callText(client, 'wait', {id: 'greeter'})).toMatch(/^\[exit \d+ \(stopped\)/);
		expect(await callText(client, 'logs', {id: 'greeter', grep: 'hello'})).toContain('\nhello Ada');
		expect(await callText(client, 'exec', {command: 'sleep 1000', limit_s: 0.1})).toMatch(/^\[exit \d+ \(time limit\)/);
		await callText(client, 'exec', {command: 'sleep 1000', wait_s: 0, name: 'interrupted'});
		expect(await callText(client, 'stop', {id: 'interrupted', signal: 'INT'})).toMatch(/^\[ended: exit 130/);
	});

	test('answers with the whole of a long output, to its last line', async () => {
		const client = await stockClient();
		const text = await callText(client, 'exec', {command: 'seq 1000000', max_chars: 300});
		expect(text).toMatch(/^\[exit 0 · .* · 6,888,896 bytes, 6,888,596 left out: logs p1\]\n1\n2\n/);
		expect(text).toMatch(/\n1000000$/);
	});

	test('reads, writes, edits and copies files', async () => {
		const client = await stockClient();
		const at = (...names: string[]): string => join(folder, ...names);
		const folder = scratchDirectory();
		mkdirSync(at('there'));
		expect(await callText(client, 'write', {path: at('a/b/file'), content: 'one\ntwo\n'})).toMatch(/^\[written · cmd/);
		expect(await callText(client, 'edit', {path: at('a/b/file'), old: 'two', new: '2'})).toMatch(/line 2\]$/);
		expect(await callText(client, 'read', {path: at('a/b/file')})).toMatch(/ · 6 bytes · lines 1-2\]\none\n2$/);
		expect(await callText(client, 'read', {path: `cmd:${at('a')}`})).toMatch(/directory, 1 entries\]\nb\/$/);
		expect(await callText(client, 'read', {path: at('none')})).toMatch(/^ERROR .*No such file/);
		expect(await callText(client, 'copy', {from: at('a'), to: at('there/copy')})).toMatch(
			/^\[copied · .* · 1 files · 6 bytes\]$/,
		);
		expect(readFileSync(at('there/copy/b/file'), 'utf8')).toBe('one\n2\n');
	});

	test('says of everything it lacks what to do instead', async () => {
		const client = await stockClient();
		await callText(client, 'exec', {command: 'sleep 1000', tty: true, wait_s: 0});
		await callText(client, 'exec', {command: 'sleep 1000', wait_s: 0});
		const refused: [string, Record<string, unknown>, string][] = [
			['screen', {id: 'p1'}, 'cmd has no `screen`: its server keeps none; send and wait answer with output'],
			['stop', {id: 'p1', signal: 'USR1'}, 'cmd has no `signal USR1`: it only interrupts (INT) and kills'],
			['send', {id: 'p2', eof: true}, 'cmd has no `eof`: only the input of a terminal can be ended there'],
			['send', {id: 'p2', text: 'x'}, 'p2 takes no input (stdinClosed)'],
			['logs', {id: 'p1', from: 1}, 'cmd keeps no output: only its head and tail are known here'],
			['exec', {command: 'true', keep: true}, 'cmd has no `keep`: a process cannot survive its server there'],
			['find', {path: '/', name: 'x'}, 'cmd cannot search; use exec with find or grep'],
			['port', {port: 80}, 'cmd has no `port`: its server does not forward ports; use exec with curl there'],
		];
		for (const [tool, given, text] of refused) expect(await callText(client, tool, given)).toBe(`ERROR ${text}`);
		expect(await callText(client, 'exec', {command: 'cat', stdin: 'x'})).toMatch(
			/^ERROR cmd has no `stdin`: input could never end there; put it into the command/,
		);
		for (const id of ['p1', 'p2']) expect(await callText(client, 'stop', {id})).toMatch(/^\[ended/);
	});
});
