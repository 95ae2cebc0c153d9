import {writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import type {ServerOptions} from '../../src/server/options.js';
import {describeEnforcers} from '../helpers/enforcers.js';
import {glob, policy, root} from '../helpers/sandboxes.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {execServer} from '../helpers/serving.js';
import {TestClient} from '../helpers/test-client.js';

const STARTS = 20;
const HIDDEN_FILES = 900;
const LIMITS = {openFiles: 321, cpuSeconds: 77};
const TELL = 'echo $(ulimit -n) $(ulimit -t)';
/** Forks first and asks then; each shell tells what it has. */
const SCRIPT = `(${TELL}) & (setsid sh -c '${TELL}') & wait; ${TELL}`;
const EXPECTED = Array<string>(3).fill('321 77');
const linesOf = (text: string): string[] => text.trim().split(/\r?\n/);

function joined(options: ServerOptions = {}): Promise<TestClient> {
	return TestClient.overMemory(execServer({childLimits: LIMITS, ...options})).initialize();
}

describeEnforcers(
	'the limits of children hold from the first instruction',
	sandboxEnforcer => {
		test.for([
			{tty: false, network: 'restricted'},
			{tty: true, network: 'restricted'},
			{tty: false, network: 'enabled'},
		])('in a sandbox, with a terminal: $tty, network: $network', async ({tty, network}) => {
			const client = await joined({sandboxEnforcer});
			const sandbox = policy([root('read')], {network});
			for (let count = 0; count < STARTS; count++) {
				await client.sh(`p${count}`, SCRIPT, {sandbox, tty});
				const {stdout, pty} = await client.done(`p${count}`);
				expect(linesOf(stdout + pty)).toEqual(EXPECTED);
			}
		});

		test('in a sandbox that hides more files than the command may have open', async () => {
			const directory = scratchDirectory();
			for (let count = 0; count < HIDDEN_FILES; count++) writeFileSync(join(directory, `${count}.key`), 'secret');
			const client = await joined({sandboxEnforcer});
			const sandbox = policy([root('read'), glob(join(directory, '*.key'), 'deny')]);
			await client.sh('p', `cat ${directory}/*.key; ls ${directory} | wc -l; ${TELL}`, {sandbox});
			const {stdout} = await client.done('p');
			expect(linesOf(stdout)).toEqual([String(HIDDEN_FILES), EXPECTED[0]]);
		});

		test('for another arg0 in a sandbox, which a helper sets', async () => {
			const client = await joined({sandboxEnforcer});
			await client.sh('p', `echo $0; ${SCRIPT}`, {sandbox: policy([root('read')]), arg0: 'other'});
			expect(linesOf((await client.done('p')).stdout)).toEqual([expect.any(String), ...EXPECTED]);
		});
	},
	{programs: ['bash']},
);

test('the limits of children hold in the first protocol', async () => {
	const client = await joined();
	for (let count = 1; count <= STARTS; count++) {
		const sessionId = `session-${count}`;
		const exec = {argv: ['/bin/sh', '-c', SCRIPT], cwd: '/tmp', env: {PATH: process.env['PATH']}, tty: false};
		expect(await client.call('command/exec', exec)).toEqual({sessionId});
		const output = (): string =>
			client.events
				.filter(({method, params}) => method === 'command/exec/outputDelta' && params['sessionId'] === sessionId)
				.map(({params}) => Buffer.from(params['chunk'] as string, 'base64').toString())
				.join('');
		await client.until(() => linesOf(output()).length >= EXPECTED.length && output().endsWith('\n'));
		expect(linesOf(output())).toEqual(EXPECTED);
	}
});
