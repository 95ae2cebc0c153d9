import {spawnSync} from 'node:child_process';
import {readFileSync} from 'node:fs';
import {expect, test} from 'vitest';
import {parseServeOptions} from '../src/cli/commands/install-service/serve-options.js';
import {Command, run} from './helpers/command.js';
import {fileWith} from './helpers/tokens.js';

const DOCKERFILE = readFileSync(new URL('../Dockerfile', import.meta.url), 'utf8');

/** The words of the last instruction of this name. */
function instruction(name: string): string[] {
	const line = DOCKERFILE.split('\n').findLast(each => each.startsWith(`${name} `))!;
	return JSON.parse(line.slice(line.indexOf('['))) as string[];
}

test('the options of the image are those of a server that asks for a token', () => {
	expect(instruction('ENTRYPOINT')).toEqual(['longarm', 'serve']);
	expect(parseServeOptions(instruction('CMD'))).toMatchObject({
		listen: 'ws://0.0.0.0:4500',
		'ws-auth': 'capability-token',
	});
	expect(DOCKERFILE).toMatch(/^USER (?!root)/m);
});

test('the health check of the image tells whether clients are taken', async () => {
	const options = instruction('CMD').map(word => word.replace('0.0.0.0:4500', '127.0.0.1:0'));
	const token = fileWith('right');
	const server = new Command([
		'serve',
		'--drain',
		'1h',
		...options.map(word => (word.startsWith('/run') ? token : word)),
	]);
	const url = await server.url();
	const check = (): number | null => {
		const [node, ...args] = instruction('HEALTHCHECK').map(word => word.replace('127.0.0.1:4500', new URL(url).host));
		expect(node).toBe('node');
		return spawnSync(process.execPath, args).status;
	};
	expect(check()).toBe(0);
	const env = {LONGARM_EXEC_SERVER_TOKEN: 'right'};
	const busy = new Command(['run', '-e', url, '--', 'sh', '-c', 'echo up; read line'], {env});
	await busy.until(() => busy.stdout.includes('up'), 'the start');
	process.kill(server.pid, 'SIGTERM');
	await server.logs('"draining');
	expect(check()).toBe(1);
	busy.child.stdin.end('\n');
	await server.ended;
	expect(check()).toBe(1);
	expect((await run(['run', '-e', url, '--', 'true'], env)).code).toBe(125);
});
