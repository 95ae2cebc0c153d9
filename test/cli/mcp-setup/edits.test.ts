import * as fc from 'fast-check';
import {parse} from 'smol-toml';
import {expect, test} from 'vitest';
import {MCP_CLIENTS, type McpClient} from '../../../src/cli/commands/mcp/setup/mcp-clients.js';
import {type ConfigChange, planSetup, planUninstall} from '../../../src/cli/commands/mcp/setup/plan-change.js';
import type {RecordedEdit} from '../../../src/cli/commands/mcp/setup/setup-record.js';

const client = (name: string): McpClient => MCP_CLIENTS.find(each => each.name === name)!;
const CURSOR = client('cursor');
const CODEX = client('codex');
const ENTRY = {command: 'longarm', args: ['mcp']};

function install(given: McpClient, text: string, recorded?: RecordedEdit): {after: string; edit: RecordedEdit} {
	const change = planSetup(given, ENTRY, {text, recorded}, false);
	if (!('edit' in change)) throw new Error(`nothing to do for ${text}`);
	return change;
}

const uninstalled = (given: McpClient, text: string, recorded?: RecordedEdit): string | undefined => {
	const change = planUninstall(given, {text, recorded});
	return change.kind === 'remove' ? change.after : text;
};

test.each([
	[
		'',
		'{\n  "mcpServers": {\n    "longarm": {\n      "command": "longarm",\n      "args": [\n        "mcp"\n      ]\n    }\n  }\n}\n',
	],
	[
		'{}',
		'{\n  "mcpServers": {\n    "longarm": {\n      "command": "longarm",\n      "args": [\n        "mcp"\n      ]\n    }\n  }\n}',
	],
	['{"a":1}', '{"a":1,"mcpServers":{"longarm":{"command":"longarm","args":["mcp"]}}}'],
	[
		'{\n\t"a": 1 // one\n}\n',
		'{\n\t"a": 1,\n\t"mcpServers": {\n\t\t"longarm": {\n\t\t\t"command": "longarm",\n\t\t\t"args": [\n\t\t\t\t"mcp"\n\t\t\t]\n\t\t}\n\t} // one\n}\n',
	],
	[
		'{\r\n  "mcpServers": {\r\n  }\r\n}\r\n',
		'{\r\n  "mcpServers": {\r\n    "longarm": {\r\n      "command": "longarm",\r\n      "args": [\r\n        "mcp"\r\n      ]\r\n    }\r\n  }\r\n}\r\n',
	],
])('into %j goes the entry in the layout of the file', (text, expected) => {
	const {after, edit} = install(CURSOR, text);
	expect(after).toBe(expected);
	expect(uninstalled(CURSOR, after, edit)).toBe(text);
});

const COMMENTED = `\uFEFF// mine
{
    "other": [1, 2, {"mcpServers": null}], /* kept */
    "mcpServers": {
        // the first
        "first": {"command": "x", "args": ["// no comment", "\\"}"]},
    },
    "last": "é\u2028", // end
}
// bye`;

test('comments, commas behind the last entry, a mark of byte order and odd strings stay as they are', () => {
	const {after, edit} = install(CURSOR, COMMENTED);
	expect(after).toContain('"\\"}"]},\n        "longarm": {\n            "command": "longarm",');
	expect(after.replace(edit.inserted, '')).toBe(COMMENTED);
	expect(planSetup(CURSOR, ENTRY, {text: after, recorded: edit}, false)).toEqual({kind: 'unchanged'});
	expect(uninstalled(CURSOR, after, edit)).toBe(COMMENTED);
});

test('without a record the entry is taken out by its meaning', () => {
	for (const text of [COMMENTED, '{"mcpServers":{"a":{}}}', '{\n  "mcpServers": {\n    "a": {}\n  }\n}\n']) {
		expect(uninstalled(CURSOR, install(CURSOR, text).after)).toBe(text);
	}
	const first = '{"mcpServers": {"longarm": {}, /* about b */ "b": {}}}';
	expect(uninstalled(CURSOR, first)).toBe('{"mcpServers": { /* about b */ "b": {}}}');
	expect(uninstalled(CURSOR, '{"mcpServers": {\n "longarm": {}\n}}')).toBe('{"mcpServers": {}}');
});

test('an entry that is there is updated, with the members its owner added, and comes back with --uninstall', () => {
	const own = '{"mcpServers": {"longarm": {"command": "old", "env": {"TOKEN": "secret"}}}}';
	const {after, edit} = install(CURSOR, own);
	expect(JSON.parse(after)).toEqual({mcpServers: {longarm: {...ENTRY, env: {TOKEN: 'secret'}}}});
	// Another command line later: the record still tells of the text before all edits.
	const later = planSetup(CURSOR, {command: 'longarm', args: ['mcp', '--all']}, {text: after, recorded: edit}, false);
	if (!('edit' in later)) throw new Error(later.kind);
	expect(later.kind).toBe('update');
	expect(uninstalled(CURSOR, later.after, later.edit)).toBe(own);
});

test('the entry is taken out of a file that its client has written anew', () => {
	const {after, edit} = install(CURSOR, '{"a": 1}');
	const rewritten = `${JSON.stringify({...(JSON.parse(after) as object), b: 2}, undefined, 4)}\n`;
	expect(JSON.parse(uninstalled(CURSOR, rewritten, edit)!)).toEqual({a: 1, mcpServers: {}, b: 2});
	expect(uninstalled(CURSOR, '{"a": 1}', edit)).toBe('{"a": 1}');
});

test.each([
	['claude-desktop', '{"a": 1, // no comments here\n}', 'line 1, column 10: there is no `"`'],
	['claude-desktop', '{"a": 1,}', 'there is no `"`'],
	['cursor', '{"a": 1', 'there is no `,`'],
	['cursor', '{"a": /* 1}', 'there is a comment without an end'],
	['cursor', '{"a": 1} 2', 'there is more text than one value'],
	['cursor', '{"mcpServers": {"x": 1, "x": 2}}', 'there is a name that is there twice'],
	['cursor', '[]', '`mcpServers` would have to be in an object'],
	['cursor', '{"mcpServers": []}', '`longarm` would have to be in an object'],
	['cursor', '['.repeat(500), 'there is too many levels'],
	['codex', '[mcp_servers', 'line 1, column'],
	['codex', 'mcp_servers = {other = {command = "x"}}', 'laid out in a way'],
])('the %s configuration %j is refused', (name, text, says) => {
	expect(() => planSetup(client(name), ENTRY, {text, recorded: undefined}, false)).toThrow(says);
	expect(() => planSetup(client(name), ENTRY, {text, recorded: undefined}, false)).not.toThrow('secret');
});

test('a configuration in TOML gets a table at its end, and keeps everything else', () => {
	const text =
		'# mine\nmodel = "x" # one\nbig = 9007199254740993\n\n[mcp_servers.other]\ncommand = "y"\n\n[tui]\nat = 1979-05-27\n# end';
	const {after, edit} = install(CODEX, text);
	expect(after).toBe(`${text}\n\n[mcp_servers.longarm]\ncommand = "longarm"\nargs = [ "mcp" ]\n`);
	expect(uninstalled(CODEX, after, edit)).toBe(text);
	expect(planSetup(CODEX, ENTRY, {text: after, recorded: edit}, false)).toEqual({kind: 'unchanged'});
	const {after: fresh, edit: freshEdit} = install(CODEX, '');
	expect([fresh, uninstalled(CODEX, fresh, freshEdit)]).toEqual([
		'[mcp_servers.longarm]\ncommand = "longarm"\nargs = [ "mcp" ]\n',
		'',
	]);
	expect(install(CODEX, 'a = 1\r\n').after).toBe(
		'a = 1\r\n\r\n[mcp_servers.longarm]\r\ncommand = "longarm"\r\nargs = [ "mcp" ]\r\n',
	);
});

test('a table in TOML is updated in its place, with what its owner added, and taken out without a record', () => {
	const text = '[mcp_servers.longarm]\ncommand = "old"\n[mcp_servers.longarm.env]\nA = "b"\n\n# about b\n[b]\nc = 1\n';
	const {after, edit} = install(CODEX, text);
	expect(parse(after)).toEqual({mcp_servers: {longarm: {...ENTRY, env: {A: 'b'}}}, b: {c: 1}});
	expect(after).toMatch(/\n\n# about b\n\[b\]\nc = 1\n$/);
	expect(uninstalled(CODEX, after, edit)).toBe(text);
	expect(uninstalled(CODEX, text)).toBe('\n# about b\n[b]\nc = 1\n');
});

test('setup and uninstall give back any JSON object, however it is written', () => {
	const blank = fc.constantFrom('', ' ', '\n', '\t', '\r\n  ', ' // c\n', '/* , } */');
	const write = (value: unknown, blanks: Iterator<string>): string => {
		const gap = (): string => blanks.next().value as string;
		if (Array.isArray(value)) return `[${value.map(each => gap() + write(each, blanks) + gap()).join(',')}]`;
		if (typeof value !== 'object' || value === null) return JSON.stringify(value);
		const members = Object.entries(value).map(
			([key, each]) => `${gap()}${JSON.stringify(key)}${gap()}:${gap()}${write(each, blanks)}${gap()}`,
		);
		return `{${members.join(',')}${members.length === 0 ? gap() : ''}}`;
	};
	const servers = fc.dictionary(fc.string(), fc.object({maxDepth: 1}));
	const object = fc.record({mcpServers: servers, other: fc.jsonValue()}, {requiredKeys: []});
	fc.assert(
		fc.property(object, fc.array(blank, {minLength: 1}), (value, gaps) => {
			const plain = JSON.parse(JSON.stringify(value)) as {mcpServers?: Record<string, unknown>};
			if (plain.mcpServers && '__proto__' in plain.mcpServers) delete plain.mcpServers['longarm'];
			const cycle = (function* (): Generator<string, never> {
				for (;;) yield* gaps;
			})();
			const text = write(plain, cycle);
			const change: ConfigChange = planSetup(CURSOR, ENTRY, {text, recorded: undefined}, false);
			if (change.kind !== 'add') return;
			expect(uninstalled(CURSOR, change.after, change.edit)).toBe(text);
		}),
	);
});
