import {spawnSync} from 'node:child_process';
import {expect, test} from 'vitest';
import {Command} from './helpers/command.js';

const at = (name: string) => new URL(`../examples/${name}`, import.meta.url).pathname;

test.each(['first-process.mjs', 'remote-process.mjs'])(
	'examples/%s runs a command and passes on what it says',
	async name => {
		const server = new Command(['serve', '--listen', 'ws://127.0.0.1:0']);
		const url = await server.url();
		const script = 'echo hello; echo trouble >&2; exit 3';
		const {status, stdout, stderr} = spawnSync(process.execPath, [at(name), url, 'sh', '-c', script], {
			encoding: 'utf8',
		});
		expect([status, stdout, stderr]).toEqual([3, 'hello\n', 'trouble\n']);
		const unusable = spawnSync(process.execPath, [at(name)], {encoding: 'utf8'});
		expect([unusable.status, unusable.stderr]).toEqual([
			2,
			`usage: node examples/${name} ws://127.0.0.1:PORT COMMAND [ARG...]\n`,
		]);
	},
);
