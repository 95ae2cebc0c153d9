import {describe, expect, test} from 'vitest';
import {createShellArgv, runCommandLine} from '../../../src/client/run/shell-command.js';
import {ENVIRONMENTS} from '../../helpers/transports.js';

describe.each(Object.entries(ENVIRONMENTS))('on %s', (_name, machine) => {
	test('a command line is run by the shell of the machine', async () => {
		const environment = await machine();
		const {path} = (await environment.info()).shell;
		const result = await environment.shell('printf "%s\n" one two | sort -r; echo $LINE >&2', {env: {LINE: 'set'}});
		expect(result).toMatchObject({reason: 'exit', exitCode: 0, argv: [path, '-c', expect.any(String)]});
		expect([result.stdout.text, result.stderr.text]).toEqual(['two\none\n', 'set\n']);
	});

	test('its failure is that of any command', async () => {
		const environment = await machine();
		expect(await environment.shell('exit 4', {reject: false})).toMatchObject({reason: 'exit', exitCode: 4});
		await expect(environment.shell('exit 4')).rejects.toThrow('exited with code 4');
	});
});

test('a machine that does not describe itself has the shell every system has', async () => {
	const environment = await ENVIRONMENTS['this machine']!();
	let isAsked = false;
	const info: typeof environment.info = async () => {
		if (isAsked) return environment.info();
		isAsked = true;
		throw new Error('too old');
	};
	const {argv} = await runCommandLine({processes: environment.processes, info}, 'true');
	expect(argv).toEqual(['/bin/sh', '-c', 'true']);
});

test('each kind of shell has its own way to be told a command', () => {
	expect(createShellArgv({name: 'bash', path: '/bin/bash'}, 'x', true)).toEqual(['/bin/bash', '-lc', 'x']);
	expect(createShellArgv({name: 'cmd', path: 'cmd.exe'}, 'x', true)).toEqual(['cmd.exe', '/c', 'x']);
	expect(createShellArgv({name: 'pwsh', path: 'pwsh'}, 'x', false)).toEqual(['pwsh', '-NoProfile', '-Command', 'x']);
});
