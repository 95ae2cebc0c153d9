import {existsSync, readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {beforeAll, expect, test} from 'vitest';
import {listDescendants} from '../../src/processes/tree/process-tree.js';
import {describeEnforcers} from '../helpers/enforcers.js';
import {uri} from '../helpers/files.js';
import {ownCommand} from '../helpers/own-command.js';
import {workspacePolicy} from '../helpers/sandboxes.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {execServer} from '../helpers/serving.js';
import {TestClient} from '../helpers/test-client.js';

let command: readonly string[];
beforeAll(async () => {
	const built = await ownCommand();
	command = built.command;
	return built.remove;
});

/** Variables that the runtime, OpenSSL, the C library and shells obey. */
const obeyed = (work: string): Record<string, string> => ({
	NODE_OPTIONS: `--require ${work}/evil.cjs`,
	NODE_EXTRA_CA_CERTS: `${work}/evil.cjs`,
	NODE_PATH: work,
	NODE_V8_COVERAGE: work,
	OPENSSL_CONF: `${work}/openssl.cnf`,
	OPENSSL_MODULES: work,
	LD_PRELOAD: `${work}/evil.so`,
	LD_AUDIT: `${work}/evil.so`,
	GCONV_PATH: work,
	LOCPATH: work,
	MALLOC_TRACE: `${work}/trace`,
	BASH_ENV: `${work}/evil.sh`,
	'BASH_FUNC_exec%%': '() { touch evil; }',
});

describeEnforcers('of the variables that a program obeys', sandboxEnforcer => {
	test('none of the server’s reaches the worker for files or its wrapper', async () => {
		const work = scratchDirectory();
		writeFileSync(
			join(work, 'evil.cjs'),
			`require('node:fs').writeFileSync(${JSON.stringify(join(work, 'mark'))}, '');`,
		);
		writeFileSync(join(work, 'in'), 'inside');
		const variables = {PATH: process.env['PATH'], TMPDIR: work, ...obeyed(work)};
		const before = new Set(listDescendants(process.pid).map(({pid}) => pid));
		const client = await TestClient.overMemory(
			execServer({ownCommand: command, variables, sandboxEnforcer}),
		).initialize();
		const sandbox = workspacePolicy(work);
		await client.call('fs/readFile', {path: uri(join(work, 'in')), sandbox});
		const started = listDescendants(process.pid).filter(({pid}) => !before.has(pid));
		const environments = started.map(({pid}) => readFileSync(`/proc/${pid}/environ`, 'latin1'));
		expect(environments.length).toBeGreaterThanOrEqual(2);
		const names = environments
			.flatMap(text => text.replace('OPENSSL_CONF=/dev/null\0', '').split('\0').filter(Boolean))
			.map(line => line.split('=', 1)[0]!);
		expect(names.filter(name => !['PATH', 'TMPDIR', 'PWD'].includes(name))).toEqual([]);
		expect(existsSync(join(work, 'mark'))).toBe(false);
	});

	test('none of the client’s is obeyed by what sets arg0 and the terminal', async () => {
		const work = scratchDirectory();
		writeFileSync(join(work, 'evil.sh'), `echo evil`);
		const env = {
			...obeyed(work),
			LD_PRELOAD: '',
			LD_AUDIT: '',
			PATH: process.env['PATH']!,
			SHELLOPTS: 'xtrace',
			PS4: 'evil',
		};
		const client = await TestClient.overMemory(execServer({sandboxEnforcer})).initialize();
		const more = {sandbox: workspacePolicy(work), env, tty: true, arg0: 'other'};
		await client.start('p', ['/bin/cat', '/proc/self/cmdline'], more);
		const {exitCode, pty} = await client.done('p');
		expect({exitCode, pty}).toEqual({exitCode: 0, pty: 'other\0/proc/self/cmdline\0'});
	});
});
