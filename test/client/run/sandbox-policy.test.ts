import {existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {describe, expect, onTestFinished, test} from 'vitest';
import {UnifiedExec} from '../../../src/agent-tools/unified-exec.js';
import type {ProcessHandle, StartParams} from '../../../src/client/process/process-handle.js';
import type {ProcessHost} from '../../../src/client/run/command.js';
import {run} from '../../../src/client/run/run.js';
import {createSandboxPolicy, type SandboxPreset} from '../../../src/client/run/sandbox-policy.js';
import {Environment} from '../../../src/environments/environment.js';
import {sandboxContext} from '../../../src/protocol/methods/sandbox-params.js';
import {decode} from '../../../src/protocol/wire/decode.js';
import {needsSandbox} from '../../helpers/needs.js';
import {ENVIRONMENTS} from '../../helpers/transports.js';

/** A directory outside of those for temporary files that a policy makes writable. */
function directory(): string {
	const path = mkdtempSync('/var/tmp/longarm-');
	onTestFinished(() => rmSync(path, {recursive: true, force: true}));
	return path;
}

/** Words of the kernel, which depend on what enforces a policy. */
const DENIED = /Read-only file system|Permission denied/g;

const shell = (script: string): string[] => ['/bin/sh', '-c', script];

// The stock server looks for a helper of its own beside it, which is not there when it is run from its package.
const OURS = Object.entries(ENVIRONMENTS).filter(([name]) => !name.includes('stock'));

describe.each(OURS)('in %s', (_name, open) => {
	test('read-only lets a command read everything and write nothing', needsSandbox(), async () => {
		const [environment, cwd] = [await open(), directory()];
		writeFileSync(join(cwd, 'file'), 'text');
		const script = 'cat file; echo x > file; echo x > new; echo x > /tmp/longarm-new';
		const result = await environment.run(shell(script), {cwd, sandbox: 'read-only', reject: false});
		expect([result.reason, result.stdout.text, result.stderr.text.match(DENIED)?.length]).toEqual(['exit', 'text', 3]);
		expect(existsSync(join(cwd, 'new'))).toBe(false);
	});

	test(
		'workspace-write lets it write where it works, but not to what other programs obey',
		needsSandbox(),
		async () => {
			const [environment, cwd, outside] = [await open(), directory(), directory()];
			for (const name of ['.git', '.codex', '.agents']) mkdirSync(join(cwd, name));
			const script = `echo x > new && file=$(mktemp /tmp/longarm-XXXXXX) && echo x > $file && rm $file && echo written
			for name in .git/a .codex/a .agents/a ${outside}/a; do (echo x > $name) 2>/dev/null && echo $name; done; exit 0`;
			await using process = await environment.start(shell(script), {cwd, sandbox: 'workspace-write'});
			const {exit, stdout} = await environment.communicate(process);
			expect([exit.exitCode, stdout.text]).toEqual([0, 'written\n']);
			expect([existsSync(join(cwd, 'new')), existsSync(join(outside, 'a'))]).toEqual([true, false]);
		},
	);

	test('a policy can name more to write, and the network', needsSandbox(), async () => {
		const [environment, cwd, more] = [await open(), directory(), directory()];
		const sandbox = createSandboxPolicy('read-only', {cwd, writable: [more], network: true});
		const script = `echo x > ${more}/a && readlink /proc/self/ns/net; echo x > ${cwd}/a`;
		const {stdout, stderr} = await environment.run(shell(script), {cwd, sandbox, reject: false});
		const own = await environment.run(['readlink', '/proc/self/ns/net']);
		expect([stdout.text, stderr.text]).toEqual([own.stdout.text, expect.stringMatching(DENIED)]);
	});

	test('a tool of a model writes to the workspace of the environment only', needsSandbox(), async () => {
		const outside = directory();
		await using exec = new UnifiedExec({environment: await open(), sandbox: 'workspace-write'});
		const {text} = await exec.execCommand({cmd: 'touch a', workdir: outside, login: false});
		expect(text).toMatch(DENIED);
		expect(existsSync(join(outside, 'a'))).toBe(false);
	});
});

test('a policy is what the protocol takes, and none that protects nothing or has an unknown name', () => {
	for (const preset of ['read-only', 'workspace-write'] as const) {
		const policy = createSandboxPolicy(preset, {cwd: '/srv/app', writable: ['/srv/cache']});
		expect(decode(sandboxContext, policy)).toMatchObject({permissions: {type: 'managed', network: 'restricted'}});
	}
	expect(() => createSandboxPolicy('workspace-write', {cwd: '/'})).toThrow('the whole disk');
	expect(() => createSandboxPolicy('workspace-write', {cwd: 'C:\\'})).toThrow('the whole disk');
	expect(() => createSandboxPolicy('readonly' as SandboxPreset, {cwd: '/srv'})).toThrow('unknown sandbox `readonly`');
});

/** This machine as a server that takes a policy and forgets it. */
function forgetful(started: ProcessHandle[]): ProcessHost {
	const environment = Environment.local();
	onTestFinished(() => environment.close());
	return {
		info: () => environment.info(),
		processes: {
			async start({sandbox: _sandbox, ...params}: StartParams, options) {
				const {process} = await environment.processes.start(params, options);
				started.push(process);
				return {process, sandboxType: undefined};
			},
		},
	};
}

test('a process whose sandbox is not enforced is ended, and its start has failed', async () => {
	const started: ProcessHandle[] = [];
	const result = await run(forgetful(started), ['sleep', '1000'], {sandbox: 'read-only', reject: false});
	expect([result.reason, result.error?.message]).toEqual(['spawn', expect.stringContaining('cannot be enforced')]);
	expect((await started[0]!.exited).exitCode).toBe(137);
	await using exec = new UnifiedExec({environment: {id: 'old', ...forgetful(started)}, sandbox: 'read-only'});
	expect((await exec.execCommand({cmd: 'sleep 1000'})).text).toContain('cannot be enforced');
	expect((await started[1]!.exited).exitCode).toBe(137);
});
