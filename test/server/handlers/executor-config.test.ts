import {mkdirSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {codexHome, readConfig} from '../../../src/server/handlers/executor-config.js';
import {scratchDirectory} from '../../helpers/scratch.js';

const CONFIG = `
# a comment
model = "x"
token = "hunter2"

[mcp_servers.a]
url = "http://a"

[mcp_servers.b]
command = "b"
args = ["1", "2"]
`;

function home(config: string): string {
	const directory = scratchDirectory();
	writeFileSync(join(directory, 'config.toml'), config);
	return directory;
}

test('only what is asked for is read', async () => {
	const place = home(CONFIG);
	const [layer, ...others] = await readConfig(place, [['mcp_servers', 'b'], ['model'], ['missing', 'key']]);
	expect(others).toEqual([]);
	expect(layer).toMatchObject({source: `user (${place}/config.toml)`, baseDir: `file://${place}`});
	const {parse} = await import('smol-toml');
	expect(parse(layer!.toml)).toEqual({model: 'x', mcp_servers: {b: {command: 'b', args: ['1', '2']}}});
	expect(JSON.stringify(await readConfig(place, [['mcp_servers']]))).not.toContain('hunter2');
});

test('two paths into one table are both there', async () => {
	const [layer] = await readConfig(home(CONFIG), [
		['mcp_servers', 'a', 'url'],
		['mcp_servers', 'b', 'command'],
	]);
	expect(layer!.toml).toContain('url = "http://a"');
	expect(layer!.toml).toContain('command = "b"');
	expect(layer!.toml).not.toContain('args');
});

test('what is not there is no layer', async () => {
	expect(await readConfig(home(CONFIG), [['nothing']])).toEqual([]);
	expect(await readConfig(home(CONFIG), [['model', 'deeper']])).toEqual([]);
	expect(await readConfig(scratchDirectory(), [['model']])).toEqual([]);
});

test('a file that cannot be read is an error that does not quote it', async () => {
	const reading = readConfig(home('token = "hunter2"\nmodel = oops'), [['model']]);
	await expect(reading).rejects.toMatchObject({code: 'CONFIG_UNREADABLE'});
	await expect(reading).rejects.not.toThrow('hunter2');
	const directory = scratchDirectory();
	mkdirSync(join(directory, 'config.toml'));
	await expect(readConfig(directory, [['model']])).rejects.toThrow('failed to load executor-local config: ');
});

test('the home of the peer is where its variable says, else below that of the user', () => {
	expect(codexHome({CODEX_HOME: '/srv/codex'})).toBe('/srv/codex');
	expect(codexHome({})).toMatch(/\/\.codex$/);
});
